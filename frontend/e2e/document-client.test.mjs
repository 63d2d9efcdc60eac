// A program that was written for the NanoClaw document works against the server, for one person and for several.
import assert from 'node:assert/strict'
import { DocumentClient } from './document-client.mjs'
import { withMiniclaw } from './fixtures.mjs'

// The file that the document gives as its example, with the scripted model in it.
const CONFIG = `
backend_port: 3000
frontend_port: 4000
max_iterations: 15
models:
  - id: deepseek-chat
    name: DeepSeek V3
    api_url: \${OPENAI_BASE_URL}/chat/completions
    api_key: \${OPENAI_API_KEY}
default_model: deepseek-chat
workspace_root: ./workspaces
db_type: sqlite
db_host: localhost
db_port: 3306
db_user: root
db_password: "123456"
db_name: nano_claw
db_sqlite_file: nano_claw.db
`
const REPLIES = [
  { match: 'title', repeat: true, steps: [{ text: 'A short name' }, { finish: 'stop' }] },
  {
    match: 'What is in notes.md?',
    steps: [
      { thinking: 'I should read it.' },
      { text: 'Let me ' },
      { text: 'look.' },
      { tool_call: { id: 'call_1', name: 'read_file', arguments: { items: [{ path: 'notes.md' }] } } },
      { finish: 'tool_calls' },
    ],
  },
  { match: 'What is in notes.md?', steps: [{ text: 'It says 你好.' }, { finish: 'stop' }] },
  { match: 'What is in notes.md?', steps: [{ text: 'Again: 你好.' }, { finish: 'stop' }] },
  {
    match: 'fail',
    repeat: true,
    steps: [{ status: 400 }, { bytes: '{"error":{"message":"no such model"}}' }],
  },
]
const PASSWORD = 'correct horse battery'

const single = withMiniclaw({ config: `${CONFIG}auth_mode: single\n`, replies: REPLIES })
const multi = withMiniclaw({
  config: `${CONFIG}auth_mode: multi\njwt_secret: \${SECRET_OF_TOKENS}\n`,
  env: { SECRET_OF_TOKENS: '0123456789abcdef0123456789abcdef-document' },
})

const withCode = code => error => error.code === code && error.message.length > 0
const types = steps => steps.map(step => step.type)

single('one person needs no account', async ({ app }) => {
  const client = new DocumentClient(app.url)
  const profile = await client.request('GET', '/api/auth/profile')
  assert.deepEqual([profile.username, profile.role, profile.is_active], ['default', 'admin', true])
  const account = { username: 'ann', password: PASSWORD }
  await assert.rejects(client.request('POST', '/api/auth/register', account), withCode(403))
  await assert.rejects(client.request('GET', '/api/conversations/nothing'), withCode(404))
})

single('files of a project are written, moved, found and deleted', async ({ app }) => {
  const client = new DocumentClient(app.url)
  const project = await client.request('POST', '/api/projects', { name: 'AlgoLab', description: 'Sorting' })
  await assert.rejects(client.request('POST', '/api/projects', { name: 'AlgoLab' }), withCode(409))
  const at = path => `/api/projects/${project.id}${path}`
  await client.request('POST', at('/directories'), { path: 'src/utils' })
  await client.request('PUT', at('/files/src/utils/sort.py'), { content: 'def sort(): pass\n' })
  assert.equal((await client.request('GET', at('/files/src/utils/sort.py'))).content, 'def sort(): pass\n')
  await client.request('PATCH', at('/files/src/utils/sort.py'), { new_path: 'src/order.py' })
  const found = await client.request('POST', at('/search'), {
    query: 'DEF',
    path: '',
    max_results: 50,
    case_sensitive: false,
  })
  assert.match(JSON.stringify(found), /src\/order\.py/)
  const listed = await client.request('GET', at('/files?path=src'))
  assert.match(JSON.stringify(listed), /order\.py/)
  await client.request('DELETE', at('/files/src/order.py'))
  await assert.rejects(client.request('GET', at('/files/src/order.py')), withCode(404))
  await assert.rejects(client.request('GET', at('/files/..%2F..%2Fetc%2Fpasswd')), withCode(400))
  await client.request('PUT', at(''), { name: 'AlgoLab 2', description: 'Searching' })
  assert.equal((await client.request('GET', at(''))).name, 'AlgoLab 2')
  assert.equal((await client.all('/api/projects')).filter(each => each.id === project.id).length, 1)
  await client.request('DELETE', at(''))
  await assert.rejects(client.request('GET', at('')), withCode(404))
})

single('an answer is read step by step, and is the same when it is loaded again', async ({ app }) => {
  const client = new DocumentClient(app.url)
  const project = await client.request('POST', '/api/projects', { name: 'Notes' })
  await client.request('PUT', `/api/projects/${project.id}/files/notes.md`, { content: '你好\n' })
  const made = await client.request('POST', '/api/conversations', { project_id: project.id })
  assert.deepEqual([made.project_id, made.project_name], [project.id, 'Notes'])
  const messages = `/api/conversations/${made.id}/messages`

  const answer = await client.stream(messages, { text: 'What is in notes.md?' })
  assert.equal(answer.error, null)
  assert.deepEqual(types(answer.steps), ['thinking', 'text', 'tool_call', 'tool_result', 'text'])
  assert.deepEqual(
    answer.steps.map(step => step.id),
    ['step-0', 'step-1', 'step-2', 'step-3', 'step-4'],
  )
  const [thought, text, call, result, last] = answer.steps
  assert.deepEqual(
    [thought.content, text.content, last.content],
    ['I should read it.', 'Let me look.', 'It says 你好.'],
  )
  assert.deepEqual(
    [call.id_ref, call.name, JSON.parse(call.arguments)],
    ['call_1', 'read_file', { items: [{ path: 'notes.md' }] }],
  )
  assert.equal(result.id_ref, 'call_1')
  assert.equal(JSON.parse(result.content).success, true)
  assert.equal(answer.done.suggested_title, 'What is in notes.md?')
  assert.ok(answer.done.token_count > 0)

  const stored = await client.all(messages, 50)
  assert.deepEqual(
    stored.map(message => message.role),
    ['user', 'assistant'],
  )
  assert.equal(stored[0].text, 'What is in notes.md?')
  assert.equal(stored[1].id, answer.done.message_id)
  assert.deepEqual(stored[1].process_steps, answer.steps)
  const [kept] = stored[1].tool_calls
  assert.deepEqual(
    [kept.id, kept.function.name, kept.success, kept.skipped],
    ['call_1', 'read_file', true, false],
  )

  const again = await client.stream(`/api/conversations/${made.id}/regenerate/${answer.done.message_id}`)
  assert.equal(again.steps.at(-1).content, 'Again: 你好.')
  await client.request('DELETE', `${messages}/${again.done.message_id}`)
  assert.deepEqual(
    (await client.all(messages, 50)).map(message => message.role),
    ['user'],
  )

  const failed = await client.stream(messages, { text: 'fail' })
  assert.equal(typeof failed.error.content, 'string')
  assert.equal(failed.done, null)
})

single('conversations are listed in pages and by project', async ({ app }) => {
  const client = new DocumentClient(app.url)
  const project = await client.request('POST', '/api/projects', { name: 'Pages' })
  const made = []
  for (let number = 0; number < 7; number += 1) {
    const project_id = number % 2 ? project.id : null
    const { id } = await client.request('POST', '/api/conversations', { title: `Talk ${number}`, project_id })
    made.push(id)
  }
  const listed = (await client.all('/api/conversations', 3)).map(each => each.id)
  assert.equal(new Set(listed).size, listed.length)
  assert.ok(made.every(id => listed.includes(id)))
  const bound = await client.all(`/api/conversations?project_id=${project.id}`, 2)
  assert.deepEqual(new Set(bound.map(each => each.id)), new Set(made.filter((_, number) => number % 2)))
  assert.ok(bound.every(each => each.project_name === 'Pages'))

  const moved = await client.request('PATCH', `/api/conversations/${made[1]}`, {
    project_id: null,
    title: 'Free',
  })
  assert.deepEqual([moved.project_id, moved.project_name, moved.title], [null, null, 'Free'])
  await client.request('DELETE', `/api/conversations/${made[0]}`)
  await assert.rejects(client.request('GET', `/api/conversations/${made[0]}`), withCode(404))
})

single('models, tools and tokens are told', async ({ app }) => {
  const client = new DocumentClient(app.url)
  assert.match(JSON.stringify(await (await fetch(`${app.url}/api/models`)).json()), /deepseek-chat/)
  assert.match(JSON.stringify(await client.request('GET', '/api/tools')), /"calculator"/)
  const { id } = await client.request('POST', '/api/conversations', { title: 'Counted' })
  await client.stream(`/api/conversations/${id}/messages`, { text: 'hello' })
  const used = await client.request('GET', '/api/stats/tokens?period=daily')
  assert.equal(used.period, 'daily')
  assert.equal(used.total_tokens, used.prompt_tokens + used.completion_tokens)
  assert.equal(used.items[0].total_tokens, used.items[0].prompt_tokens + used.items[0].completion_tokens)
  assert.match(used.items[0].date, /^\d{4}-\d{2}-\d{2}$/)
})

multi('several people sign in with a token and see only their own', async ({ app }) => {
  const [ann, bob] = [new DocumentClient(app.url), new DocumentClient(app.url)]
  await assert.rejects(ann.request('GET', '/api/conversations'), withCode(401))
  assert.equal((await fetch(`${app.url}/api/models`)).status, 200)
  assert.equal((await fetch(`${app.url}/api/tools`)).status, 200)

  // The first account needs the code that the server prints, and others an invitation: the document has neither.
  const first = {
    username: 'ann',
    email: 'ann@example.org',
    password: PASSWORD,
    setup_code: await app.setupCode(),
  }
  await ann.request('POST', '/api/auth/register', first)
  const signedIn = await ann.request('POST', '/api/auth/login', { username: 'ann', password: PASSWORD })
  assert.deepEqual([signedIn.user.username, signedIn.user.role], ['ann', 'admin'])
  ann.setToken(signedIn.token)
  const { code: invitation } = await ann.request('POST', '/api/admin/invitations', {})
  await assert.rejects(
    bob.request('POST', '/api/auth/register', { username: 'ANN', password: PASSWORD, invitation }),
    withCode(409),
  )
  await bob.request('POST', '/api/auth/register', { username: 'bob', password: PASSWORD, invitation })
  bob.setToken((await bob.request('POST', '/api/auth/login', { username: 'bob', password: PASSWORD })).token)

  const { id } = await ann.request('POST', '/api/conversations', { title: 'Of Ann' })
  await ann.stream(`/api/conversations/${id}/messages`, { text: 'hello' })
  await assert.rejects(bob.request('GET', `/api/conversations/${id}`), withCode(404))
  await assert.rejects(bob.stream(`/api/conversations/${id}/messages`, { text: 'hello' }), withCode(404))
  assert.deepEqual(await bob.all('/api/conversations'), [])
  assert.equal((await bob.request('GET', '/api/stats/tokens?period=daily')).total_tokens, 0)
  const changed = await bob.request('PATCH', '/api/auth/profile', { email: 'bob@example.org' })
  assert.equal(changed.email, 'bob@example.org')
  bob.setToken('wrong')
  await assert.rejects(bob.request('GET', '/api/auth/profile'), withCode(401))
  await assert.rejects(
    bob.request('POST', '/api/auth/login', { username: 'bob', password: 'x' }),
    withCode(401),
  )
})
