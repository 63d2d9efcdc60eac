/** A person's actions on projects. Those that can be refused throw an `ApiError`. */
import * as members from '@/api/members'
import { putProject } from '@/api/projectQueries'
import * as api from '@/api/projects'
import { keys, refresh } from '@/api/queries'
import type { FolderToLink, Project, ProjectInvitation } from '@/api/types'
import { closeTab, useTabs } from '@/features/editor/tabs'
import { projectOf } from '@/lib/roots'
import { useNewChoice } from '@/stores/choice'
import { useProject } from '@/stores/project'
import { showProject } from '@/stores/ui'
import { type FolderUpload, uploadFolder } from './resume'

/** Refreshes the lists; the server's notice may arrive later than its response. */
function noted<P extends Project>(project: P): P {
  putProject(project)
  refresh(keys.projects)
  return project
}

export const create = async (project: { name: string; description: string }): Promise<Project> =>
  noted(await api.createProject(project))

export const upload = async (given: FolderUpload): Promise<Project> => noted(await uploadFolder(given))

/** Looks at a folder of the machine before it is linked. */
export const lookAt = async (path: string, project_id?: string): Promise<FolderToLink> =>
  (await api.linkProject({ path, project_id })).folder

/** Links the folder that was looked at: as a new project, or as the new place of a linked one. */
export async function link(
  { path, confirm }: FolderToLink,
  as: { name: string; description: string } | { project_id: string },
): Promise<Project> {
  const { project } = await api.linkProject({ path, confirm, ...as })
  if (!project) throw new Error('the server linked nothing')
  return noted(project)
}

export const change = async (id: string, values: { name: string; description: string }): Promise<Project> =>
  noted(await api.changeProject(id, values))

/** Closes the files of a project that the person has no longer. Edits that are not saved stay open. */
function close(id: string): void {
  for (const file of useTabs.getState().tabs) if (projectOf(file.root) === id) closeTab(file)
  if (useNewChoice.getState().projectId === id) useNewChoice.setState({ projectId: null })
  refresh(keys.projects)
}

/** Moves a project to the trash. */
export async function remove({ id }: Project): Promise<void> {
  await api.deleteProject(id)
  close(id)
}

/** Leaves a project of somebody else. `username` is the person's own. */
export async function leave({ id }: Project, username: string): Promise<void> {
  await members.removeMember(id, username)
  close(id)
}

/** Becomes a member of a project of somebody else. */
export async function accept({ project_id: id }: ProjectInvitation): Promise<void> {
  await members.acceptInvitation(id).finally(() => refresh(keys.projects))
}

export async function decline({ project_id: id }: ProjectInvitation): Promise<void> {
  await members.declineInvitation(id).finally(() => refresh(keys.projects))
}

export const bringBack = async (id: string): Promise<Project> => noted(await api.restoreProject(id))

/** Shows the conversations and the files of a project. New conversations are bound to it. */
export function open(id: string): void {
  useProject.setState({ id })
  showProject(id)
}
