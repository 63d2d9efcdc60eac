/** Guidance is a file by which a project tells the agent how to work in it. It is sent only while a person trusts it. */
import { type FileRef, isOfSkill, isProject } from './roots'

/** The guide of a whole project or of a folder in it, one that counts where there is no AGENTS.md, or a skill. */
export type Guidance = 'project' | 'folder' | 'substitute' | 'skill'

export function guidanceOf({ root, path }: FileRef): Guidance | null {
  if (!isProject(root)) return null
  if (isOfSkill(path) && /^[^/]+\/[^/]+\/SKILL\.md$/.test(path)) return 'skill'
  if (/(^|\/)CLAUDE\.md$/.test(path)) return 'substitute'
  if (!/(^|\/)AGENTS\.md$/.test(path)) return null
  return path.includes('/') ? 'folder' : 'project'
}

/** Whether each version of the file is trusted by a person before it is used. */
export const isTrustedByVersion = (file: FileRef): boolean =>
  file.traits.trust || guidanceOf(file) !== null || (isProject(file.root) && isOfSkill(file.path))
