import { afterEach, expect, it, vi } from 'vitest'
import { ApiError } from '@/api/client'
import { changeConversation, getConversation, listBound, listProjects } from '@/api/conversations'
import { putBound } from '@/api/projectQueries'
import { keys, queryClient } from '@/api/queries'
import type { Project } from '@/api/types'
import { projectChoices } from '@/features/project/choices'
import { placeName, projectName } from '@/features/project/place'
import { ofProject } from '@/features/sessions/groups'
import { listed } from '@/features/sessions/listed'
import { t } from '@/lib/i18n'
import '@/lib/later'
import { freshChoice, useNewChoice } from '@/stores/choice'
import { useProject } from '@/stores/project'
import { type Asked, serve } from '../fetch'

afterEach(() => {
  vi.unstubAllGlobals()
  queryClient.clear()
  useProject.setState({ id: null })
})

const project = (id: string, name: string, more: Partial<Project> = {}): Project => ({
  ...{ id, user_id: 1, name, path: `folder-${id}`, description: '', created_at: '', updated_at: '' },
  ...{ linked: false, available: true, role: 'owner' as const, owner: 'default' },
  ...more,
})
const session = (id: string) => ({
  ...{ id, title: id, created_at: 0, updated_at: 0, message_count: 1, tokens: 0, state: 'idle' as const },
})

it('a list is read to its end, page by page', async () => {
  const asked: string[] = []
  serve(({ path }) => {
    asked.push(path)
    const last = path.includes('cursor=b')
    const items = last ? [project('c', 'C')] : [project('a', 'A'), project('b', 'B')]
    return [200, { code: 0, data: { items, next_cursor: last ? null : 'b', has_more: !last } }]
  })
  expect((await listProjects()).map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  expect(asked).toEqual(['/api/projects?limit=100', '/api/projects?limit=100&cursor=b'])
  expect(await listBound('p 1')).toEqual(['a', 'b', 'c'])
  expect(asked[3]).toBe('/api/conversations?limit=100&cursor=b&project_id=p%201&archived=true')
})

it('a list that cannot be read is a failure', async () => {
  serve(() => [500, { code: 500, message: 'broken', reason: 'store' }])
  await expect(listProjects()).rejects.toThrow('broken')
})

it('an envelope is opened, and its reason is the code of a refusal', async () => {
  const asked: Asked[] = []
  serve(call => {
    asked.push(call)
    return [200, { code: 0, data: { id: 's' } }]
  })
  expect(await getConversation('s')).toEqual({ id: 's' })
  expect(await changeConversation('s', { temperature: null })).toEqual({ id: 's' })
  expect(asked.map(({ method, body }) => [method, body])).toEqual([
    ['GET', undefined],
    ['PATCH', { temperature: null }],
  ])
  const codeOf = (body: Record<string, unknown>) => new ApiError(409, body).code
  expect(codeOf({ code: 409, message: '', reason: 'busy' })).toBe('busy')
  expect(codeOf({ code: 'busy', message: '', reason: 'x' })).toBe('busy')
  expect(codeOf({ code: 409 })).toBe('http_409')
})

it('scratch comes first, then projects by name, and a chosen one that is unknown last', () => {
  const projects = [project('b', 'Site 10'), project('scratch', 'x'), project('a', 'Site 9')]
  const names = (chosen: string | null) => projectChoices(projects, chosen, t).map(({ words }) => words)
  expect(names(null)).toEqual(['scratch/', 'Site 9', 'Site 10'])
  expect(names('a')).toEqual(names(null))
  expect(names('gone')).toEqual(['scratch/', 'Site 9', 'Site 10', 'gone'])
})

it('a project is described by its owner, its description and the folder that was linked, never by its own name', () => {
  const hint = (more: Partial<Project>) => projectChoices([project('a', 'A', more)], null, t)[1]?.hint
  expect(hint({ path: 'A' })).toBe('')
  expect(hint({ description: 'Notes' })).toBe('Notes')
  const linked = { linked: true, path: '/home/ada/A' }
  expect(hint(linked)).toBe('/home/ada/A')
  expect(hint({ ...linked, description: 'Notes' })).toBe('Notes · /home/ada/A')
  expect(hint({ role: 'viewer', owner: 'ann', description: 'Notes' })).toBe('Shared by ann · Notes')
})

it('a place has its name, or its id while no name is known', () => {
  const projects = [project('p', 'AlgoLab')]
  expect([placeName(null, t), placeName('scratch', t)]).toEqual([t('placeHome'), 'scratch/'])
  expect([projectName('p', projects), projectName('q', projects), projectName('p')]).toEqual([
    'AlgoLab',
    'q',
    'p',
  ])
})

it('the list of a project has the conversations that are bound to it', () => {
  const sessions = [session('a'), session('b'), session('c')]
  expect(ofProject(sessions, null, undefined)).toBe(sessions)
  expect(ofProject(sessions, 'p', undefined)).toBeUndefined()
  expect(ofProject(undefined, 'p', ['a'])).toBeUndefined()
  expect(ofProject(sessions, 'p', ['c', 'gone', 'a'])?.map(({ id }) => id)).toEqual(['a', 'c'])

  queryClient.setQueryData(keys.sessions, { sessions, pinned: [], archived: [], labels: {}, put_away: [] })
  queryClient.setQueryData(keys.bound('p'), ['b'])
  queryClient.setQueryData(keys.bound('q'), ['a', 'c'])
  const ids = () => listed().map(({ id }) => id)
  expect(ids()).toHaveLength(3)
  useProject.setState({ id: 'p' })
  expect(ids()).toEqual(['b'])
  putBound('c', 'p')
  expect(ids().sort()).toEqual(['b', 'c'])
  expect(queryClient.getQueryData(keys.bound('q'))).toEqual(['a'])
  putBound('b', null)
  expect(ids()).toEqual(['c'])
})

it('a new conversation is bound to the project that is listed, and the choice is stored', () => {
  useProject.setState({ id: 'p' })
  expect(useNewChoice.getState().projectId).toBe('p')
  expect(localStorage.getItem('mc:owner:project')).toBe('p')
  useNewChoice.setState({ projectId: null })
  expect(freshChoice()).toEqual({ chosen: {}, projectId: 'p' })
  useProject.setState({ id: null })
  expect(localStorage.getItem('mc:owner:project')).toBeNull()
})
