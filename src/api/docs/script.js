'use strict'
// A page to try the API: reads the OpenAPI document, builds a form for each operation, and shows responses and streams.
const place = document.getElementById('operations')
const el = (tag, props = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), props)
  node.append(...children)
  return node
}

function example(schema, document_, depth = 0) {
  if (!schema || depth > 4) return null
  if (schema.$ref) return example(document_.components.schemas[schema.$ref.split('/').pop()], document_, depth + 1)
  if (schema.type === 'object' || schema.properties) {
    const required = Object.entries(schema.properties ?? {})
    return Object.fromEntries(required.map(([name, field]) => [name, example(field, document_, depth + 1)]))
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  return { string: '', boolean: true, integer: 0, number: 0, array: [] }[type] ?? null
}

async function show(response, out, stop) {
  out.textContent = `${response.status} ${response.statusText}\n\n`
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done || stop.signal.aborted) break
    text += decoder.decode(value, { stream: true })
    let shown = text
    try { shown = JSON.stringify(JSON.parse(text), null, 2) } catch { /* not JSON (yet): show the raw text */ }
    out.textContent = `${response.status} ${response.statusText}\n\n${shown}`
  }
}

function operation(path, method, spec, document_) {
  const inputs = (spec.parameters ?? []).map(parameter => {
    const input = el('input', { name: parameter.name, placeholder: parameter.required ? 'required' : 'optional' })
    return { parameter, input }
  })
  const schema = spec.requestBody?.content?.['application/json']?.schema
  const body = schema && el('textarea', { value: JSON.stringify(example(schema, document_), null, 2) })
  const out = el('pre')
  let stop = new AbortController()
  const send = el('button', { textContent: 'Send' })
  const cancel = el('button', { textContent: 'Stop', type: 'button' })
  cancel.onclick = () => stop.abort()
  send.onclick = async () => {
    stop.abort()
    stop = new AbortController()
    let url = path
    const query = new URLSearchParams()
    const headers = {}
    for (const { parameter, input } of inputs) {
      if (parameter.in === 'path') url = url.replace(`{${parameter.name}}`, encodeURIComponent(input.value))
      else if (input.value && parameter.in === 'query') query.set(parameter.name, input.value)
      else if (input.value && parameter.in === 'header') headers[parameter.name] = input.value
    }
    if (method !== 'get') headers['Content-Type'] = 'application/json'
    const sent = { method: method.toUpperCase(), headers, signal: stop.signal }
    if (method !== 'get' && method !== 'delete') sent.body = body ? body.value : '{}'
    try {
      await show(await fetch(query.size ? `${url}?${query}` : url, sent), out, stop)
    } catch (error) {
      out.textContent += `\n${error.message}`
    }
  }
  const fields = inputs.map(({ parameter, input }) => el('label', {}, `${parameter.name} (${parameter.in}) `, input))
  const title = el('summary', {}, el('b', { textContent: method.toUpperCase() }), el('code', { textContent: path }), ` ${spec.summary ?? ''}`)
  const parts = [title, el('p', { textContent: spec.description ?? '' }), ...fields]
  if (body) parts.push(el('label', {}, 'Body ', body))
  return el('details', {}, ...parts, send, cancel, out)
}

async function start() {
  const document_ = await (await fetch('/api/openapi.json')).json()
  place.replaceChildren()
  for (const [path, methods] of Object.entries(document_.paths)) {
    for (const [method, spec] of Object.entries(methods)) place.append(operation(path, method, spec, document_))
  }
  document.getElementById('filter').oninput = event => {
    const wanted = event.target.value.toLowerCase()
    for (const item of place.children) item.hidden = !item.firstChild.textContent.toLowerCase().includes(wanted)
  }
}

start().catch(error => { place.textContent = `The description could not be loaded: ${error.message}` })
