// Replaces the server's policy where a test needs a pending call. It keeps the rules that the page relies on: one
// answer per request, and only to what was shown. approvals-server.test.mjs tests the server's own policy.
import { emit } from './fake-retrieval.mjs'

export async function fakeApprovals(page, world = {}) {
  world.waiting = []
  world.answers = []
  world.rules = world.rules ?? []
  const refuse = (route, status, code, message) => route.fulfill({ status, json: { code, message } })
  await page.route('**/api/approvals', route => route.fulfill({ json: { approvals: world.waiting } }))
  await page.route('**/api/approvals/*', async route => {
    const request = route.request()
    const id = new URL(request.url()).pathname.split('/').pop()
    if (id === 'always') return route.fulfill({ json: { rules: world.rules } })
    const asked = world.waiting.find(approval => approval.id === id)
    if (!asked) return refuse(route, 404, 'not_found', 'no such approval')
    const answer = request.postDataJSON()
    if (answer.hash !== asked.hash) return refuse(route, 409, 'hash_differs', 'another hash')
    world.answers.push(answer)
    world.waiting = world.waiting.filter(approval => approval.id !== id)
    const decision = answer.decision === 'deny' ? 'denied' : 'approved'
    const scope = answer.decision === 'always' ? 'always' : 'once'
    await route.fulfill({ json: { decision, scope } })
    await told(page, asked, decision, { scope, reason: answer.reason, arguments: answer.arguments })
  })
  await page.route('**/api/approvals/always/*', route => {
    const id = new URL(route.request().url()).pathname.split('/').pop()
    world.rules = world.rules.filter(rule => rule.id !== id)
    return route.fulfill({ json: {} })
  })
  return world
}

/** The result, as every tab receives it. */
export const told = (page, { id, session_id, call_id }, decision, more = {}) =>
  emit(page, {
    type: 'frame',
    session_id,
    frame: {
      type: 'approval_result',
      approval_id: id,
      call_id,
      decision,
      scope: 'once',
      reason: null,
      ...more,
    },
  })

let count = 0
/** Adds a pending call to the page's open session. */
export async function ask(page, world, over = {}) {
  const session_id = over.session_id ?? new URL(page.url()).pathname.split('/')[2]
  const id = `p${++count}`
  const now = Date.now() / 1000
  const approval = {
    ...{ id, session_id, work_id: `w${count}`, call_id: `c${count}`, tool: 'terminal', effect: 'execute' },
    arguments: { command: 'bash tools/file-invoices.sh --month 2026-03' },
    shown: {
      command: 'bash tools/file-invoices.sh --month 2026-03',
      ...{ cwd: 'scratch/', network: false, level: 'standard', diff: null, path: null },
    },
    ...{
      reason: 'Running commands requires approval.',
      hash: `hash of ${id}`,
      asked_at: now,
      expires_at: now + 300,
    },
    ...over,
  }
  world.waiting.push(approval)
  const frames = [
    {
      type: 'user_message',
      work_id: approval.work_id,
      content: 'File the invoices.',
      message_id: `m${count}`,
    },
    { type: 'token', content: 'This script moves them:' },
    { type: 'approval_request', ...approval },
  ]
  for (const frame of frames) await emit(page, { type: 'frame', session_id, frame })
  return approval
}

/** Runs the call and ends the work. */
export async function finish(page, { session_id, work_id, call_id, tool }, status = 'done') {
  const frames = [
    {
      ...{ type: 'tool_end', tool, id: call_id, output: 'moved 3 files', status, operation_code: [] },
      ...{ result: null, duration_ms: 12 },
    },
    { type: 'done', content: '', session_id, work_id, stop_reason: 'done' },
  ]
  for (const frame of frames) await emit(page, { type: 'frame', session_id, frame })
}
