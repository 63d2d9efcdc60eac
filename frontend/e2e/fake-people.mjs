// Replaces the server's accounts, which the tested binary may not have: the endpoints of /api/auth and /api/admin, from
// their contract, with state. It keeps the rules that the page relies on: the session is a cookie, secrets are told once,
// wrong passwords make a person wait, and nothing else is answered to whoever has not signed in.

const PLAIN = { email: null, avatar: null, role: 'user', is_active: true, last_login_at: null }
const CREATED = '2026-03-01T09:00:00Z'

/** An account; the password is the name followed by “-password”. */
export const account = (username, over = {}) => ({
  ...PLAIN,
  id: `p-${username}`,
  username,
  created_at: CREATED,
  password: `${username}-password`,
  ...over,
})

const told = ({ password, ...person }) => person
const folded = name => name.normalize('NFKC').toLowerCase()

/**
 * Serves the accounts to all pages of the context. `world` may set `accounts`, `registration`, `invitations`, `tokens`,
 * `setupCode` and the seconds to wait after three wrong passwords; it then also has what happened.
 */
export async function fakePeople(context, world = {}) {
  Object.assign(world, {
    ...{ accounts: [], registration: 'invite', invitations: [], tokens: [], wait: 30, setupCode: null },
    ...world,
    ...{ sessions: new Map(), asked: [], wrong: 0, blockedUntil: 0, made: 0 },
  })
  await context.route('**/api/**', route => serve(route, world))
  return world
}

async function serve(route, world) {
  const request = route.request()
  const { pathname, searchParams: query } = new URL(request.url())
  const method = request.method()
  const { cookie = '' } = await request.allHeaders()
  const session = /people=(\w+)/.exec(cookie)?.[1]
  const me = world.accounts.find(({ id }) => id === world.sessions.get(session))
  const known = `${method} ${pathname.replace(/^(\/api\/admin\/\w+|\/api\/auth\/tokens)\/[^/]+/, '$1/{id}')}`
  const call = {
    world,
    session,
    me,
    query,
    id: pathname.split('/')[4],
    body: method === 'GET' ? null : (request.postDataJSON() ?? {}),
  }
  if (known in CALLS) {
    world.asked.push(known)
    const needsAdmin = pathname.startsWith('/api/admin/')
    const answer =
      !PUBLIC.includes(known) && !me
        ? refused(401, 'signed_out', 'sign in')
        : needsAdmin && me?.role !== 'admin'
          ? refused(403, 'not_admin', 'only an administrator can do this')
          : CALLS[known](call)
    const { status = 200, data, headers = {}, error } = answer
    const json = error ? { code: status, ...error } : { code: 0, data: data ?? null }
    return route.fulfill({ status, headers, json })
  }
  if (me && !me.is_active)
    return route.fulfill({ status: 403, json: { code: 'disabled', message: 'this account is disabled' } })
  if (!me) return route.fulfill({ status: 401, json: { code: 'signed_out', message: 'sign in' } })
  return route.fallback()
}

const PUBLIC = ['GET /api/auth/mode', 'POST /api/auth/register', 'POST /api/auth/login']
const refused = (status, reason, message, headers = {}) => ({ status, headers, error: { reason, message } })
const done = data => ({ data })
const soon = days => new Date(Date.now() + days * 86_400_000).toISOString()
const cookieOf = session => ({
  'Set-Cookie': `people=${session}; Path=/; HttpOnly; SameSite=Strict${session ? '' : '; Max-Age=0'}`,
})
const endSessions = (world, id, except) => {
  for (const [session, owner] of world.sessions)
    if (owner === id && session !== except) world.sessions.delete(session)
}

const CALLS = {
  'GET /api/admin/audit': ({ world, query }) => {
    const fits = entry =>
      ['event', 'outcome'].every(name => !query.get(name) || query.get(name) === entry[name])
    return done({ items: (world.audit ?? []).filter(fits), next_cursor: null, has_more: false })
  },

  'GET /api/auth/mode': ({ world }) =>
    done({
      auth_mode: 'multi',
      registration: world.registration,
      has_accounts: world.accounts.length > 0,
    }),

  'POST /api/auth/register': ({ world, body }) => {
    const first = world.accounts.length === 0
    if (first && world.setupCode !== null && body.setup_code !== world.setupCode)
      return refused(403, 'setup_code_needed', 'enter the setup code that the server printed')
    if (body.password.length < 8) return refused(400, 'weak_password', 'the password needs 8 characters')
    const invitation = world.invitations.find(({ code, used_by }) => code === body.invitation && !used_by)
    if (!first && world.registration === 'closed')
      return refused(403, 'registration_closed', 'registration is closed')
    if (!first && world.registration === 'invite' && !invitation)
      return refused(403, 'bad_invitation', 'this invitation is not valid')
    if (world.accounts.some(({ username }) => folded(username) === folded(body.username)))
      return refused(409, 'username_taken', 'this user name is taken')
    const { username, password, email = null } = body
    const made = account(username, { password, email, ...(first && { role: 'admin' }) })
    world.accounts.push(made)
    if (invitation) invitation.used_by = made.id
    return done(told(made))
  },

  'POST /api/auth/login': ({ world, body }) => {
    const seconds = Math.ceil((world.blockedUntil - Date.now()) / 1000)
    if (seconds > 0)
      return refused(429, 'too_many_tries', 'too many attempts', { 'Retry-After': `${seconds}` })
    const found = world.accounts.find(({ username }) => folded(username) === folded(body.username))
    if (!found || found.password !== body.password) {
      world.wrong += 1
      if (world.wrong % 3 === 0) world.blockedUntil = Date.now() + world.wait * 1000
      return refused(401, 'wrong_password', 'wrong user name or password')
    }
    if (!found.is_active) return refused(403, 'disabled', 'this account is disabled')
    world.made += 1
    const session = `s${world.made}`
    world.sessions.set(session, found.id)
    found.last_login_at = new Date().toISOString()
    return {
      headers: cookieOf(session),
      data: { token: `secret-token-of-${found.username}`, user: told(found) },
    }
  },

  'POST /api/auth/logout': ({ world, session }) => {
    world.sessions.delete(session)
    return { headers: cookieOf('') }
  },

  'POST /api/auth/logout-everywhere': ({ world, me }) => {
    endSessions(world, me.id)
    return { headers: cookieOf('') }
  },

  'POST /api/auth/password': ({ world, me, session, body }) => {
    if (body.current_password !== me.password) return refused(401, 'wrong_password', 'wrong password')
    if (body.new_password.length < 8) return refused(400, 'weak_password', 'the password needs 8 characters')
    me.password = body.new_password
    endSessions(world, me.id, session)
    return done()
  },

  'GET /api/auth/profile': ({ me }) => done(told(me)),
  'PATCH /api/auth/profile': ({ world, me, body }) => {
    const others = world.accounts.filter(person => person !== me)
    if (body.username && others.some(({ username }) => folded(username) === folded(body.username)))
      return refused(409, 'username_taken', 'this user name is taken')
    if (body.email && !body.email.includes('@')) return refused(400, 'bad_email', 'this is not an address')
    Object.assign(me, body)
    return done(told(me))
  },

  'GET /api/auth/tokens': ({ world, me }) =>
    done({ items: world.tokens.filter(({ owner }) => owner === me.id).map(({ owner, ...token }) => token) }),
  'POST /api/auth/tokens': ({ world, me, body }) => {
    const id = `t${world.tokens.length + 1}`
    const expires_at = body.expires_in_days ? soon(body.expires_in_days) : null
    const { name, scope } = body
    const made = { id, name, scope, created_at: CREATED, expires_at, last_used_at: null }
    world.tokens.push({ ...made, owner: me.id })
    return done({ id, name: body.name, token: `mct_${id}_shown-only-once` })
  },
  'DELETE /api/auth/tokens/{id}': ({ world, id }) => {
    world.tokens = world.tokens.filter(token => token.id !== id)
    return done()
  },

  'GET /api/admin/people': ({ world }) =>
    done({
      items: world.accounts.map(told),
    }),
  'PATCH /api/admin/people/{id}': ({ world, id, body }) => {
    const found = world.accounts.find(person => person.id === id)
    if (!found) return refused(404, 'not_found', 'no such person')
    const admins = world.accounts.filter(({ role, is_active }) => role === 'admin' && is_active)
    if (admins.length === 1 && admins[0] === found)
      return refused(409, 'last_admin', 'the server needs an administrator')
    Object.assign(found, body)
    if (body.is_active === false) endSessions(world, id)
    return done(told(found))
  },
  'POST /api/admin/people/{id}/password': ({ world, id }) => {
    const found = world.accounts.find(person => person.id === id)
    found.password = 'maple-otter-quartz-19'
    endSessions(world, id)
    return done({ password: found.password })
  },

  'GET /api/admin/invitations': ({ world }) =>
    done({ items: world.invitations.map(({ code, ...invitation }) => invitation) }),
  'POST /api/admin/invitations': ({ world }) => {
    const id = `i${world.invitations.length + 1}`
    const made = { id, code: `invite-${id}-9f3k2`, created_at: CREATED, expires_at: soon(7), used_by: null }
    world.invitations.push(made)
    return done({ id, code: made.code, expires_at: made.expires_at })
  },
  'DELETE /api/admin/invitations/{id}': ({ world, id }) => {
    world.invitations = world.invitations.filter(invitation => invitation.id !== id)
    return done()
  },
}
