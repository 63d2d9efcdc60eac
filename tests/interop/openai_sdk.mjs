// Uses the server with OpenAI's SDK for JavaScript, and prints what it was told.
import OpenAI, { NotFoundError } from 'openai'

const client = new OpenAI({ maxRetries: 0 })
const model = 'miniclaw'
const told = { models: 0 }
for await (const _ of client.models.list()) told.models += 1

const messages = [{ role: 'user', content: 'hi' }]
const first = await client.chat.completions.create({ model, messages })
told.text = first.choices[0].message.content
messages.push(first.choices[0].message, { role: 'user', content: 'more' })
const stream = client.chat.completions.stream({ model, messages })
told.streamed = (await stream.finalChatCompletion()).choices[0].message.content

const parameters = { type: 'object', properties: { at: { type: 'string' } } }
const tools = [{ type: 'function', function: { name: 'look', parameters } }]
const asked = [{ role: 'user', content: 'look at it' }]
const handed = await client.chat.completions.create({ model, messages: asked, tools })
const { message } = handed.choices[0]
told.call = message.tool_calls[0].function.name
asked.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'a cat' })
told.after = (await client.chat.completions.create({ model, messages: asked, tools })).choices[0].message.content

told.response = (await client.responses.create({ model, input: 'hello' })).output_text
try {
  await client.chat.completions.create({ model: 'gpt-9', messages })
} catch (error) {
  if (!(error instanceof NotFoundError)) throw error
  told.missing = [error.status, error.code]
}
console.log(JSON.stringify(told))
