/** The members of a project, and the invitations to projects of others. Responses have an envelope. */
import { useQuery } from '@tanstack/react-query'
import { personOfPage } from '@/lib/storage'
import { api, dataOf } from './client'
import type { MemberRole, ProjectInvitation, ProjectMember, ProjectMembers } from './types'

const of = (id: string, username: string) => ({ params: { path: { id, username } } })
const to = (project_id: string) => ({ params: { path: { project_id } } })

export const membersKey = (id: string) => ['project-members', id]
/** Refreshed with the projects. */
export const invitationsKey = ['projects', 'invitations']

const listMembers = (id: string): Promise<ProjectMembers> =>
  dataOf(api.GET('/api/projects/{id}/members', { params: { path: { id } } })).then(r => r.data)
const listInvitations = (): Promise<ProjectInvitation[]> =>
  dataOf(api.GET('/api/projects/invitations')).then(r => r.data.items)

/** Invites somebody, or changes their role. The answer doesn't tell whether anybody has the name. */
export const putMember = (id: string, username: string, role: MemberRole): Promise<ProjectMember> =>
  dataOf(api.PUT('/api/projects/{id}/members/{username}', { ...of(id, username), body: { role } })).then(
    r => r.data,
  )
/** Removes a member, or takes an invitation back; members remove themselves to leave. */
export const removeMember = (id: string, username: string): Promise<unknown> =>
  dataOf(api.DELETE('/api/projects/{id}/members/{username}', of(id, username)))
export const acceptInvitation = (project: string): Promise<unknown> =>
  dataOf(api.POST('/api/projects/invitations/{project_id}', to(project)))
export const declineInvitation = (project: string): Promise<unknown> =>
  dataOf(api.DELETE('/api/projects/invitations/{project_id}', to(project)))

export const useMembers = (id: string) =>
  useQuery({ queryKey: membersKey(id), queryFn: () => listMembers(id), staleTime: 0 })

/** The invitations of the person; they may arrive at any time, so that returning to the page asks again. */
export const useProjectInvitations = () =>
  useQuery({
    queryKey: invitationsKey,
    queryFn: listInvitations,
    enabled: personOfPage !== null,
    retry: false,
    staleTime: 5_000,
    refetchOnWindowFocus: true,
  })
