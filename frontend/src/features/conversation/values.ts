/** What can be chosen for a conversation: the texts of the fields, and what they mean to the server. */
import { ApiError } from '@/api/client'
import type { Chosen, ConversationChange } from '@/api/types'
import type { Key } from '@/lib/i18n'

/** The texts of the fields; an empty one chooses nothing. */
export interface Values {
  title: string
  /** Id of a model. */
  model: string
  system_prompt: string
  temperature: string
  max_tokens: string
  thinking_enabled: '' | 'on' | 'off'
  /** Id of a project. */
  project_id: string
}
export type Field = keyof Values

export const FIELDS = [
  ...(['title', 'model', 'system_prompt', 'temperature'] as const),
  ...(['max_tokens', 'thinking_enabled', 'project_id'] as const),
] satisfies Field[]

/** Limits of the server. */
export const LONGEST_PROMPT = 20_000
const LONGEST_TITLE = 255
const MOST_TOKENS = 2 ** 32 - 1

/** The texts of what is chosen. */
export const valuesOf = (title: string, chosen: Chosen, projectId: string | null): Values => ({
  title,
  model: chosen.model ?? '',
  system_prompt: chosen.system_prompt ?? '',
  temperature: chosen.temperature?.toString() ?? '',
  max_tokens: chosen.max_tokens?.toString() ?? '',
  thinking_enabled: chosen.thinking == null ? '' : chosen.thinking ? 'on' : 'off',
  project_id: projectId ?? '',
})

/** The number of characters as the server counts them: one outside the basic plane is one. */
export const lengthOf = (text: string): number => [...text].length

/** Why a text cannot be chosen; null if it can. */
const PROBLEMS: { [F in Field]?: (text: string) => Key | null } = {
  title: text => (lengthOf(text.trim()) > LONGEST_TITLE ? 'titleTooLong' : null),
  system_prompt: text => (lengthOf(text) > LONGEST_PROMPT ? 'instructionsTooLong' : null),
  temperature: text => (!isDecimal(text) || Number(text) > 2 ? 'temperatureOutside' : null),
  max_tokens: text =>
    /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= MOST_TOKENS ? null : 'maxTokensOutside',
}
const isDecimal = (text: string): boolean => /^(\d+\.?\d*|\.\d+)$/.test(text)

export function problemsIn(edits: Partial<Values>): Partial<Record<Field, Key>> {
  const found: Partial<Record<Field, Key>> = {}
  for (const field of FIELDS) {
    const text = edits[field]?.trim()
    const problem = text ? PROBLEMS[field]?.(edits[field]?.trim() ?? '') : null
    if (problem) found[field] = problem
  }
  return found
}

/** The edits that differ from what is chosen. */
export function changed(edits: Partial<Values>, values: Values): Partial<Values> {
  const pairs = FIELDS.filter(field => edits[field] !== undefined && edits[field] !== values[field])
  return Object.fromEntries(pairs.map(field => [field, edits[field]]))
}

/** What the edits ask of the server: an empty text resets its value. */
export function changeOf(edits: Partial<Values>): ConversationChange {
  const text = (value: string) => (value.trim() === '' ? null : value)
  const number = (value: string) => (value.trim() === '' ? null : Number(value))
  const { title, model, system_prompt, temperature, max_tokens, thinking_enabled, project_id } = edits
  return {
    ...(title !== undefined && { title: text(title) }),
    ...(model !== undefined && { model: text(model) }),
    ...(system_prompt !== undefined && { system_prompt: text(system_prompt) }),
    ...(temperature !== undefined && { temperature: number(temperature) }),
    ...(max_tokens !== undefined && { max_tokens: number(max_tokens) }),
    ...(thinking_enabled !== undefined && {
      thinking_enabled: thinking_enabled === '' ? null : thinking_enabled === 'on',
    }),
    ...(project_id !== undefined && { project_id: text(project_id) }),
  }
}

/** What is chosen after the change. */
export function chosenWith(chosen: Chosen, change: ConversationChange): Chosen {
  const { model, system_prompt, temperature, max_tokens, thinking_enabled } = change
  return {
    ...chosen,
    ...(model !== undefined && { model }),
    ...(system_prompt !== undefined && { system_prompt }),
    ...(temperature !== undefined && { temperature }),
    ...(max_tokens !== undefined && { max_tokens }),
    ...(thinking_enabled !== undefined && { thinking: thinking_enabled }),
  }
}

/** The field that the server refused; null if it refused the request for another reason. */
export function refusedField(error: unknown, change: ConversationChange): Field | null {
  if (!(error instanceof ApiError)) return null
  const among = (field: Field) => (field in change ? field : null)
  switch (error.code) {
    case 'unknown_model':
      return among('model')
    case 'busy':
      return among('project_id')
    case 'too_long':
      return among('title')
    case 'not_found':
      return /project/.test(error.message) ? among('project_id') : null
    default:
      // The server names the field as the request does.
      return FIELDS.find(field => field in change && error.message.includes(field)) ?? null
  }
}
