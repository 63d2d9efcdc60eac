/** Valid file names, and the files they stand for. A skill is named after its folder. */
import type { Translate } from '@/lib/i18n'
import { createsSkills, FileRef, isProject, projectTitle, type Root } from '@/lib/roots'

const SKILL_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/
const FILE_NAME = /^[\p{L}\p{N}_. -]+(\/[\p{L}\p{N}_. -]+)*$/u

/** What people call a root. */
export const rootWords = (root: Root, t: Translate): string =>
  isProject(root) ? projectTitle(root) : t(root)

/** The skill that a SKILL.md belongs to; null for any other file. */
export const skillOf = ({ root, path }: FileRef): string | null =>
  (createsSkills(root) && /^([^/]+)\/SKILL\.md$/.exec(path)?.[1]) || null

export const skillNamed = (root: Root, name: string): FileRef | null =>
  name.length <= 64 && SKILL_NAME.test(name) ? FileRef.of(root, `${name}/SKILL.md`) : null

export const isSkill = (file: FileRef): boolean => skillOf(file) !== null

const isFileName = (name: string): boolean =>
  FILE_NAME.test(name) && !name.split('/').some(part => part.startsWith('.') || part.trim() === '')

/** Whether the server accepts a path below a project, whose files may begin with a dot and need no extension. */
const isProjectPath = (path: string): boolean =>
  path.split('/').every(part => part.trim() !== '' && part !== '.' && part !== '..') &&
  Array.from(path).every(char => char >= ' ' && char !== '\\' && char !== '\u007f') &&
  !path.startsWith('~')

/** A new folder of a project; null if the name is invalid. */
export const folderNamed = (root: Root, name: string): FileRef | null => {
  const path = name.trim().replace(/\/+$/, '')
  return isProjectPath(path) ? FileRef.of(root, path) : null
}

/** A new file; null if the name is invalid. */
export function fileNamed(root: Root, name: string): FileRef | null {
  const trimmed = name.trim()
  if (isProject(root)) return isProjectPath(trimmed) ? FileRef.of(root, trimmed) : null
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
  if (isProject(file.root)) return isProjectPath(trimmed) ? FileRef.of(file.root, trimmed) : null
  return isFileName(trimmed) ? FileRef.of(file.root, trimmed) : null
}

/** The file that an upload creates, in a folder of a project if one is given. A skill uploaded as a single file is named after it. */
export function uploadTo(root: Root, name: string, below = ''): FileRef | null {
  if (isProject(root))
    return isProjectPath(name) && !name.includes('/')
      ? FileRef.of(root, below ? `${below}/${name}` : name)
      : null
  if (!createsSkills(root)) return isFileName(name) && !name.includes('/') ? FileRef.of(root, name) : null
  const skill = /^(.+)\.md$/i.exec(name)?.[1]?.toLowerCase()
  return skill && skill !== 'skill' ? skillNamed(root, skill) : null
}
