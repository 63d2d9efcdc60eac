/** The usage of models. */
export const usage = {
  usageHint:
    'As reported by providers. Deleted conversations and providers that don’t report usage are not included.',
  usageNone: 'No usage yet.',
  usageChart: 'Tokens per day, at most {most}',
  usageOfDay: '{day}: {fresh} new input, {cached} cached input, {output} output',
  usageByModel: 'By model',
  usageByDay: 'By day',
  usageAsTable: 'Show as table',
  usageDay: 'Day',
  usageWorks: 'Messages',
  usageInput: 'Input',
  usageFresh: 'New input',
  usageCached: 'Cached input',
  usageOutput: 'Output',
  usageTotal: 'Total',
  usageUnnamed: 'Unknown model',
}
