/** What the calls of a project's tools say of their items, read from the arguments and results that travel as open JSON. */
import type { Attachment, Step } from '@/thread/model'
import { keptPicture, type PictureRecord } from '@/thread/picture'

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const argumentsOf = ({ arguments: given }: Pick<Step, 'arguments'>): Fields =>
  isFields(given) ? given : {}

/** The `data` of a result; empty if there is none. */
export function dataOf({ result }: Pick<Step, 'result'>): Fields {
  const data = isFields(result) ? result.data : null
  return isFields(data) ? data : {}
}

export const fieldsIn = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.filter(isFields) : []

export const textIn = (fields: Fields, name: string): string | null => {
  const value = fields[name]
  return typeof value === 'string' ? value : null
}

/** The paths that a call names: of its items, of its list of paths, or its own. */
export function pathsOf(step: Pick<Step, 'arguments'>): string[] {
  const { items, paths, path } = argumentsOf(step)
  const given = Array.isArray(paths) ? paths : Array.isArray(items) ? fieldsIn(items).map(pathOf) : [path]
  return given.filter(one => typeof one === 'string')
}

/** An item that is moved is named by where it was. */
const pathOf = (item: Fields): string | null => textIn(item, 'path') ?? textIn(item, 'from')

/** The commands of a call of bash, in order. */
export const commandsOf = (step: Pick<Step, 'arguments'>): string[] =>
  fieldsIn(argumentsOf(step).commands).map(command => textIn(command, 'instruction') ?? '')

/** An item of a call that failed, and why, in the words of the server; the reason may be empty. */
export interface FailedItem {
  name: string
  reason: string
}

/** The items of a call that failed, named by path, command or task. */
export function failedItems(step: Pick<Step, 'arguments' | 'result'>): FailedItem[] {
  const { summary } = dataOf(step)
  const details = isFields(summary) ? fieldsIn(summary.failed_details) : []
  const commands = commandsOf(step)
  return details.flatMap(detail => {
    const at = detail.command_index
    const name =
      textIn(detail, 'file_path') ??
      textIn(detail, 'item_id') ??
      (typeof at === 'number' ? commands[at] : undefined)
    return name === undefined ? [] : [{ name, reason: textIn(detail, 'reason') ?? '' }]
  })
}

const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0

/** A field of a file in a result, if it is the record of a picture. */
function pictureIn(value: unknown): PictureRecord | null {
  if (!isFields(value)) return null
  const { media_type, hash, bytes, width, height } = value
  if (typeof media_type !== 'string' || typeof hash !== 'string') return null
  return isSize(bytes) && isSize(width) && isSize(height) ? { media_type, hash, bytes, width, height } : null
}

/** The pictures that a call read, by their paths. */
export function picturesOf(step: Pick<Step, 'tool' | 'result'>, sessionId: string): Attachment[] {
  if (step.tool !== 'read_file') return []
  return Object.entries(dataOf(step)).flatMap(([path, file]) => {
    const picture = isFields(file) ? pictureIn(file.picture) : null
    return picture
      ? [{ name: path, extension: '', content: '', picture: keptPicture(picture, sessionId) }]
      : []
  })
}

/** A command that ran, or was to run. */
export interface RanCommand {
  instruction: string
  folder: string
  /** Null if it did not run. */
  exitCode: number | null
  output: string
}

/** The commands of a call that has ended, also those that were not run; null if it says nothing of them. */
export function ranCommands(step: Pick<Step, 'arguments' | 'result'>): RanCommand[] | null {
  const { commands: rows } = dataOf(step)
  if (!Array.isArray(rows)) return null
  const ran = fieldsIn(rows).map(row => ({
    instruction: textIn(row, 'instruction') ?? '',
    folder: textIn(row, 'working_directory') ?? '',
    exitCode: typeof row.exit_code === 'number' ? row.exit_code : null,
    output: textIn(row, 'output') ?? '',
  }))
  const skipped = commandsOf(step).slice(ran.length)
  return [...ran, ...skipped.map(instruction => ({ instruction, folder: '', exitCode: null, output: '' }))]
}
