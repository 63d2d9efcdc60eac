/** The problems that the page shows for an open SKILL.md, and their words. */
import type { Skill } from '@/api/types'
import type { Key, Translate } from '@/lib/i18n'
import { ofSkill, type Say } from '@/lib/server'
import { BROKEN, IMPERFECT, isBroken, type Problem, type ProblemCode, type YamlFault } from './check'

const PROBLEM_WORDS: Record<ProblemCode, Key> = {
  no_front_matter: 'skillNoFrontMatter',
  not_closed: 'skillNotClosed',
  too_long: 'skillTooLong',
  not_yaml: 'skillNotYaml',
  not_fields: 'skillNotFields',
  no_name: 'skillNoName',
  no_description: 'skillNoDescription',
  metadata: 'skillMetadata',
  long_name: 'skillLongName',
  name_form: 'skillNameForm',
  folder_name: 'skillFolderName',
  long_description: 'skillLongDescription',
}
const FAULT_WORDS: Record<YamlFault, Key> = {
  colon: 'skillYamlColon',
  twice: 'skillYamlTwice',
  tab: 'skillYamlTab',
  open: 'skillYamlOpen',
  start: 'skillYamlStart',
  other: 'skillNotYaml',
}

interface FromServer {
  /** The server's sentence, and its code. */
  text: string
  said: Skill['error_code']
  breaks: boolean
}

/** A problem of the text, or one that only the server sees, such as a hidden file beside it. */
export type Shown = { kind: 'text'; problem: Problem } | ({ kind: 'server' } & FromServer)

const isOfText = (code: string | undefined): boolean =>
  [...BROKEN, ...IMPERFECT].some(known => known === code)

const saidOf = (skill: Skill | undefined): FromServer[] => [
  ...(skill?.error ? [{ text: skill.error, said: skill.error_code, breaks: true }] : []),
  ...(skill?.notes ?? []).map((text, n) => ({ text, said: skill?.note_codes?.[n], breaks: false })),
]

/**
 * The problems of the text as it is in the editor, then those of the server. If the text is the saved one, the server
 * decides what breaks it: its parser of YAML is another.
 */
export function shownProblems(
  found: readonly Problem[],
  skill: Skill | undefined,
  isSaved: boolean,
): Shown[] {
  const ofText = isSaved && skill && !skill.error ? found.filter(problem => !isBroken(problem)) : found
  const isMissed = ({ said }: FromServer) =>
    !isOfText(said?.code) || (isSaved && ofText.every(({ code }) => code !== said?.code))
  return [
    ...ofText.map(problem => ({ kind: 'text' as const, problem })),
    ...saidOf(skill)
      .filter(isMissed)
      .map(one => ({ kind: 'server' as const, ...one })),
  ]
}

export const breaks = (shown: Shown): boolean =>
  shown.kind === 'text' ? isBroken(shown.problem) : shown.breaks

export function wordsOf(shown: Shown, t: Translate, say: Say): string {
  if (shown.kind === 'server') return ofSkill(say, shown.text, shown.said)
  const { code, about, fault } = shown.problem
  return t(fault ? FAULT_WORDS[fault] : PROBLEM_WORDS[code], about)
}
