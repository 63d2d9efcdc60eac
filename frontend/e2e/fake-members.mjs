// Replaces the server's routes for the members of projects, from their contract, with state: the projects of the tested
// server are given owners and members, and each person sees those that are theirs. The accounts are those of fakePeople.
import { fakePeople } from './fake-people.mjs'

const SINCE = '2026-11-20T08:30:00Z'
export const member = (username, role = 'editor', state = 'member') => ({
  username,
  role,
  state,
  since: SINCE,
})

const ok = data => ({ json: { code: 0, data: data ?? null } })
const refused = (status, reason, message) => ({ status, json: { code: status, reason, message } })
const gone = refused(404, 'not_found', 'there is no such project')

/**
 * `world.shared` has the projects by id: `{owner, members}`. The others belong to whoever asks. What was asked is in
 * `world.told`.
 */
export async function fakeMembers(context, world) {
  world.told = []
  await fakePeople(context, world)
  await context.route('**/api/projects**', route => serve(route, world))
  return world
}

/** Who asks; the cookie is that of fakePeople. */
async function person(request, world) {
  const { cookie = '' } = await request.allHeaders()
  const id = world.sessions.get(/people=(\w+)/.exec(cookie)?.[1])
  return world.accounts.find(account => account.id === id)?.username
}

const roleOf = (shared, me) =>
  shared === undefined || shared.owner === me
    ? 'owner'
    : (shared.members.find(({ username, state }) => username === me && state === 'member')?.role ?? null)

async function serve(route, world) {
  const request = route.request()
  const method = request.method()
  const { pathname } = new URL(request.url())
  const me = await person(request, world)
  if (me === undefined) return route.fallback()
  const [, , , id, part, name] = pathname.split('/').map(decodeURIComponent)
  if (pathname === '/api/projects' && method === 'GET') return route.fulfill(await list(route, world, me))
  if (id === 'invitations') {
    world.told.push(`${method} ${pathname}`)
    return route.fulfill(invitations({ world, me, method, id: part }))
  }
  const shared = world.shared[id]
  const role = roleOf(shared, me)
  if (part === 'members') {
    world.told.push(`${method} ${pathname}`)
    const body = method === 'PUT' ? request.postDataJSON() : null
    return route.fulfill(members({ shared, role, me, method, name, body }))
  }
  if (role === null) return route.fulfill(gone)
  if (role === 'viewer' && method !== 'GET' && part !== 'search')
    return route.fulfill(refused(403, 'read_only', 'you may only read this project'))
  return route.fallback()
}

async function list(route, { shared }, me) {
  const response = await route.fetch()
  const { code, data } = await response.json()
  const items = data.items.flatMap(project => {
    const role = roleOf(shared[project.id], me)
    return role ? [{ ...project, role, owner: shared[project.id]?.owner ?? me }] : []
  })
  return { json: { code, data: { ...data, items } } }
}

function invitations({ world, me, method, id }) {
  const open = Object.entries(world.shared).flatMap(([project_id, { name, owner, members }]) =>
    members
      .filter(({ username, state }) => username === me && state === 'invited')
      .map(found => ({ project_id, name, owner, found })),
  )
  if (method === 'GET')
    return ok({
      items: open.map(({ found: { role, since }, ...about }) => ({ ...about, role, since })),
    })
  const invitation = open.find(({ project_id }) => project_id === id)
  if (!invitation) return refused(404, 'no_invitation', 'you have no such invitation')
  const project = world.shared[id]
  if (method === 'POST') invitation.found.state = 'member'
  else project.members = project.members.filter(({ username }) => username !== me)
  return ok()
}

function members({ shared, role, me, method, name, body }) {
  if (!shared || role === null) return gone
  if (method === 'GET') return ok({ role, owner: shared.owner, members: shared.members })
  if (role !== 'owner' && !(method === 'DELETE' && name === me))
    return refused(403, 'not_owner', 'only the owner of the project can do this')
  const found = shared.members.find(({ username }) => username === name)
  if (method === 'DELETE') {
    shared.members = shared.members.filter(member => member !== found)
    return ok()
  }
  if (name === me) return refused(400, 'own_name', 'you own this project')
  if (found) found.role = body.role
  else shared.members.push(member(name, body.role, 'invited'))
  return ok(shared.members.find(({ username }) => username === name))
}
