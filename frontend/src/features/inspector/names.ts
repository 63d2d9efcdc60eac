/** Names that files may have here, and the paths they stand for. A skill is named after its folder. */
import type { Root } from '@/api/endpoints'
import { ROOT_TRAITS } from '@/lib/roots'

export interface Draft {
  path: string
  content: string
}

const SKILL_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/
const FILE_NAME = /^[\p{L}\p{N}_. -]+(\/[\p{L}\p{N}_. -]+)*$/u
const SKILL = /^skills\/([^/]+)\/SKILL\.md$/

export const isSkill = (path: string): boolean => SKILL.test(path)

const isFileName = (name: string): boolean =>
  FILE_NAME.test(name) && !name.split('/').some(part => part.startsWith('.') || part.trim() === '')

/** The path and first text of a new file, or null when the name cannot be one. */
export function draftOf(root: Root, name: string): Draft | null {
  const trimmed = name.trim()
  if (root === 'skills') {
    if (!SKILL_NAME.test(trimmed)) return null
    const content = `---\nname: ${trimmed}\ndescription: \n---\n\n# ${trimmed}\n\n`
    return { path: `skills/${trimmed}/SKILL.md`, content }
  }
  if (!isFileName(trimmed)) return null
  const file = /\.[^./]+$/.test(trimmed) ? trimmed : `${trimmed}.md`
  return { path: `${root}/${file}`, content: '' }
}

/** What a person calls the file: its path below its folder, or the skill. */
export const nameIn = (path: string): string => SKILL.exec(path)?.[1] ?? path.slice(path.indexOf('/') + 1)

/** The path that a file of that new name has, or null when the name cannot be one. */
export function renamed(path: string, name: string): string | null {
  const trimmed = name.trim()
  if (SKILL.test(path)) return SKILL_NAME.test(trimmed) ? `skills/${trimmed}/SKILL.md` : null
  return isFileName(trimmed) ? `${path.slice(0, path.indexOf('/'))}/${trimmed}` : null
}

/** Where an uploaded file goes. A skill that comes as a file is named after it. */
export function uploadPath(root: Root, name: string): string | null {
  if (ROOT_TRAITS[root].upload === 'file')
    return isFileName(name) && !name.includes('/') ? `${root}/${name}` : null
  const skill = /^(.+)\.md$/i.exec(name)?.[1]?.toLowerCase()
  return skill && skill !== 'skill' && SKILL_NAME.test(skill) ? `skills/${skill}/SKILL.md` : null
}
