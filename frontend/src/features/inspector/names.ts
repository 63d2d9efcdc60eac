/** Valid file names, and the files they stand for. A skill is named after its folder. */
import { createsSkills, FileRef, type Root } from '@/lib/roots'

const SKILL_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/
const FILE_NAME = /^[\p{L}\p{N}_. -]+(\/[\p{L}\p{N}_. -]+)*$/u

/** The skill that a SKILL.md belongs to; null for any other file. */
export const skillOf = ({ root, path }: FileRef): string | null =>
  (createsSkills(root) && /^([^/]+)\/SKILL\.md$/.exec(path)?.[1]) || null

export const skillNamed = (root: Root, name: string): FileRef | null =>
  name.length <= 64 && SKILL_NAME.test(name) ? FileRef.of(root, `${name}/SKILL.md`) : null

export const isSkill = (file: FileRef): boolean => skillOf(file) !== null

const isFileName = (name: string): boolean =>
  FILE_NAME.test(name) && !name.split('/').some(part => part.startsWith('.') || part.trim() === '')

/** A new file; null if the name is invalid. */
export function fileNamed(root: Root, name: string): FileRef | null {
  const trimmed = name.trim()
  if (!isFileName(trimmed)) return null
  const path = /\.[^./]+$/.test(trimmed) ? trimmed : `${trimmed}.md`
  return FileRef.of(root, path)
}

/** The name that a person uses for the file: its path below the root, or the skill's name. */
export const nameIn = (file: FileRef): string => skillOf(file) ?? file.path

/** The file under its new name; null if the name is invalid. */
export function renamed(file: FileRef, name: string): FileRef | null {
  const trimmed = name.trim()
  if (isSkill(file)) return skillNamed(file.root, trimmed)
  return isFileName(trimmed) ? FileRef.of(file.root, trimmed) : null
}

/** The file that an upload creates. A skill uploaded as a single file is named after it. */
export function uploadTo(root: Root, name: string): FileRef | null {
  if (!createsSkills(root)) return isFileName(name) && !name.includes('/') ? FileRef.of(root, name) : null
  const skill = /^(.+)\.md$/i.exec(name)?.[1]?.toLowerCase()
  return skill && skill !== 'skill' ? skillNamed(root, skill) : null
}
