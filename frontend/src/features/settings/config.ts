/** The settings of config.yml: which part of the page shows each, and how it is called. */
import { changeSettings } from '@/api/endpoints'
import { keys, queryClient, refreshEach } from '@/api/queries'
import type { Setting, Settings } from '@/api/types'
import type { Key, Translate } from '@/lib/i18n'
import '@/lib/later'

export type Part = 'models' | 'agent' | 'approvals' | 'toolRules' | 'tools' | 'search' | 'network' | 'server'

/** The parts by the beginning of their keys. The default and the fallback model are chosen among the models. */
const PARTS: readonly [string, Part | null][] = [
  ['default_model', null],
  ['fallback_model', null],
  ['find_local_models', 'models'],
  ['vision_models', 'models'],
  ['max_', 'agent'],
  ['auto_compact', 'agent'],
  ['approvals.tools.', 'toolRules'],
  ['approvals.', 'approvals'],
  ['tools.', 'tools'],
  ['web_search.', 'tools'],
  ['sandbox', 'network'],
  ['fetch_allow_hosts', 'network'],
  ['embedding.', 'search'],
  ['retrieval.', 'search'],
]

/** Where a setting is shown; one that this page does not know is shown with those of the server. */
export const partOf = (key: string): Part | null => {
  const known = PARTS.find(([beginning]) => key.startsWith(beginning))
  return known ? known[1] : 'server'
}

const LABELS: Readonly<Record<string, Key>> = {
  find_local_models: 'setFindLocal',
  vision_models: 'setVisionModels',
  max_iterations: 'setMaxIterations',
  max_minutes: 'setMaxMinutes',
  auto_compact: 'setAutoCompact',
  'approvals.effects.read': 'effectRead',
  'approvals.effects.write': 'effectWrite',
  'approvals.effects.execute': 'effectExecute',
  'approvals.effects.network': 'effectNetwork',
  'approvals.timeout_seconds': 'setTimeout',
  sandbox: 'aboutSandbox',
  fetch_allow_hosts: 'setAllowHosts',
  'embedding.provider': 'setEmbedding',
  'embedding.model': 'setEmbeddingModel',
  'embedding.conversations': 'setEmbedConversations',
  'embedding.rerank': 'setRerank',
  'retrieval.chunk_tokens': 'setChunkTokens',
  'retrieval.chunk_overlap': 'setChunkOverlap',
  'retrieval.bm25_k1': 'setBm25K1',
  'retrieval.bm25_b': 'setBm25B',
  'retrieval.vector_weight': 'setVectorWeight',
  'web_search.backend': 'setSearchEngine',
  'undo.kept_mib': 'setKeptMib',
  host_names: 'setHostNames',
  host: 'setHost',
  port: 'setPort',
}

/** The label of a setting: that of a tool's rule or switch is the tool's own name. */
export function labelOf(key: string, t: Translate): string {
  const label = Object.hasOwn(LABELS, key) ? LABELS[key] : undefined
  return label ? t(label) : key.replace(/^(approvals\.)?tools\./, '')
}

const CHOICES: Readonly<Record<string, Key>> = {
  deny: 'ruleDeny',
  ask: 'ruleAsk',
  rehearse: 'ruleRehearse',
  sandboxed: 'ruleSandboxed',
  allow: 'ruleAllow',
  unattended: 'ruleUnattended',
  strict: 'levelStrict',
  standard: 'levelStandard',
  local: 'choiceLocal',
  none: 'choiceNone',
  'web_search.backend.auto': 'compactOn',
  'auto_compact.ask': 'compactAsk',
  'auto_compact.on': 'compactOn',
  'auto_compact.off': 'compactOff',
}

/** A choice as text; a word that the page does not know, such as the name of a model, stays as it is. */
export function choiceOf(key: string, choice: string, t: Translate): string {
  const word = CHOICES[`${key}.${choice}`] ?? CHOICES[choice]
  return word ? t(word) : choice
}

/** Whether a value makes the server less safe than it is, so that a person has to confirm it. */
export function loosens({ loosens: values, value: now }: Setting, value: unknown): boolean {
  if (!values) return false
  if (!values.includes('*')) return values.includes(String(value))
  if (!Array.isArray(value)) return value !== null && value !== now
  const known: unknown[] = Array.isArray(now) ? now : []
  return value.some(entry => !known.includes(entry))
}

/** Sets a value, or removes the entry for null. Throws the refusal, which the row shows. */
export async function change(key: string, value: unknown, confirmed: boolean): Promise<void> {
  const answer = await changeSettings({ set: { [key]: value }, confirm_loosening: confirmed })
  queryClient.setQueryData<Settings>(keys.settings, answer)
  refreshEach([keys.status, keys.models, keys.providers, keys.tokens, keys.retrieval])
}

/** By what a search finds the settings of a part: their labels, and their names in config.yml. */
export const labelsOf = (part: Part): Key[] =>
  Object.entries(LABELS).flatMap(([key, label]) => (partOf(key) === part ? label : []))
export const namesOf = (part: Part): string[] => Object.keys(LABELS).filter(key => partOf(key) === part)
