/** The usage of models. */
export const usage = {
  usageHint:
    'As providers counted, read from the files of your conversations. What was deleted is not in it, and nothing is where a provider does not count.',
  usageNone: 'Nothing was asked yet.',
  usageChart: 'Tokens on each day, at most {most}',
  usageOfDay: '{day}: {fresh} new, {cached} cached, {output} out',
  usageByModel: 'By model',
  usageByDay: 'By day',
  usageAsTable: 'Show the days as a table',
  usageDay: 'Day',
  usageWorks: 'Messages',
  usageInput: 'In',
  usageFresh: 'In, new',
  usageCached: 'In, cached',
  usageOutput: 'Out',
  usageTotal: 'In all',
  usageUnnamed: 'not named',
}
