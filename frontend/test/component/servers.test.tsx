import { act, render, screen, within } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import type { Cluster, Status } from '@/api/types'
import { Servers } from '@/features/settings/Servers'
import { setLang } from '@/lib/i18n'
import { Page } from '../commands'
import { serve } from '../fetch'

const cluster: Cluster = {
  this_server: 'b',
  database_seconds: 0.0024,
  servers: [
    {
      id: 'a',
      address: 'http://10.0.0.1:8002',
      version: '0.1.0',
      state: 'draining',
      works: 2,
      homes: 1,
      since_beat: 1.4,
    },
    {
      id: 'b',
      address: 'http://10.0.0.2:8002',
      version: '0.1.0',
      state: 'alive',
      works: 0,
      homes: 0,
      since_beat: 0.2,
    },
    {
      id: 'long-gone',
      address: 'http://10.0.0.3:8002',
      version: '0.1.0',
      state: 'dead',
      works: 1,
      homes: 0,
      since_beat: 7200,
    },
    {
      id: 'c',
      address: 'http://10.0.0.3:8002',
      version: '0.1.0',
      state: 'dead',
      works: 3,
      homes: 0,
      since_beat: 90,
    },
  ],
  homes: [
    { id: 'h1', owner: 'http://10.0.0.1:8002', fence: 4, last_change: 1234, conversations_under_way: 2 },
    { id: 'h2', owner: null, fence: 1, last_change: 7, conversations_under_way: 0 },
  ],
  home_count: 5,
}

beforeEach(() => queryClient.clear())
afterEach(async () => {
  vi.unstubAllGlobals()
  await act(() => setLang('en'))
})

type Answer = readonly [status: number, body: unknown]

/** Shows the servers as the settings do, with this answer about the cluster. */
const shown = (inCluster: boolean, ofCluster: () => Answer) => {
  const status = { in_cluster: inCluster } as Status
  serve(({ path }) => (path === '/api/cluster' ? ofCluster() : [200, status]))
  queryClient.setQueryData(keys.status, status)
  render(
    <Page>
      <Servers />
    </Page>,
  )
}

describe('the servers of a cluster', () => {
  it('are listed with their state and their homes', async () => {
    shown(true, () => [200, cluster])
    const servers = await screen.findByRole('table', { name: 'Servers' })
    const cells = within(servers)
      .getAllByRole('row')
      .map(row =>
        within(row)
          .queryAllByRole('cell')
          .map(cell => cell.textContent),
      )
    expect(cells.slice(1)).toEqual([
      ['http://10.0.0.1:8002', 'stopping', '2', '1', '1.4 s', '0.1.0'],
      ['http://10.0.0.2:8002 (has this home)', 'alive', '0', '0', '200 ms', '0.1.0'],
      ['http://10.0.0.3:8002', 'ended', '0', '0', '1 m 30 s', '0.1.0'],
    ])
    expect(screen.getByRole('table', { name: 'Homes' }).textContent).toMatch(/h2none01/)
    screen.getByText('3 more homes are not listed.')
    screen.getByText('The database answers in 2 ms.')
    await act(() => setLang('zh'))
    await screen.findByText('正在停止')
  })

  it('are not asked for on a server of its own', () => {
    const asked = vi.fn(() => [404, {}] as const)
    shown(false, asked)
    expect(screen.queryByRole('table')).toBeNull()
    expect(asked).not.toHaveBeenCalled()
  })

  it('that cannot be asked for say why', async () => {
    const error = { code: 'not_allowed', message: 'only admins see this' }
    shown(true, () => [403, error])
    expect((await screen.findByRole('alert')).textContent).toMatch('Couldn’t load')
  })
})
