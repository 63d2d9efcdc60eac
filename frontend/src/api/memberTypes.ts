/** The routes of a project's members, until the description of the server's API has them. */
import type { components } from './schema'

/** What somebody may do in a project. */
export type ProjectRole = 'owner' | 'editor' | 'viewer'
/** The roles that an owner gives. */
export type MemberRole = Exclude<ProjectRole, 'owner'>

export interface ProjectMember {
  username: string
  role: MemberRole
  /** An invitation that nobody has accepted yet, also one to a name that nobody has. */
  state: 'invited' | 'member'
  /** ISO 8601, UTC. */
  since: string
}
export interface ProjectMembers {
  /** The role of the person who asks. */
  role: ProjectRole
  /** User name. */
  owner: string
  members: ProjectMember[]
}
export interface ProjectInvitation {
  project_id: string
  name: string
  /** User name. */
  owner: string
  role: MemberRole
  since: string
}
/** A project as the person who asks has it. A server without members tells neither. */
export type Project = components['schemas']['Project'] & {
  role?: ProjectRole
  /** User name. */
  owner?: string
}

interface Enveloped<Data> {
  200: { headers: Record<string, unknown>; content: { 'application/json': { code: number; data: Data } } }
}
interface Call<Parameters, Data, Body = never> {
  parameters: { path: Parameters }
  requestBody?: { content: { 'application/json': Body } }
  responses: Enveloped<Data>
}
interface InProject {
  id: string
}
interface OfMember extends InProject {
  username: string
}
interface OfInvitation {
  project_id: string
}
export interface MemberPaths {
  '/api/projects/{id}/members': { get: Call<InProject, ProjectMembers> }
  '/api/projects/{id}/members/{username}': {
    put: Call<OfMember, ProjectMember, { role: MemberRole }>
    delete: Call<OfMember, unknown>
  }
  '/api/projects/invitations': { get: Call<Record<string, never>, { items: ProjectInvitation[] }> }
  '/api/projects/invitations/{project_id}': {
    post: Call<OfInvitation, unknown>
    delete: Call<OfInvitation, unknown>
  }
}
