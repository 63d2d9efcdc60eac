import { useCluster } from '@/api/cluster'
import { useStatus } from '@/api/queries'
import type { Cluster } from '@/api/types'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { count, duration } from '@/lib/format'
import { type Key, useT } from '@/lib/i18n'

type Server = Cluster['servers'][number]

const STATES: Record<Server['state'], Key> = {
  alive: 'serverAlive',
  draining: 'serverDraining',
  late: 'serverLate',
  dead: 'serverDead',
}

/** Seconds since its last sign of life for which a server that has ended is listed. */
const SHOWN_DEAD = 600

/** The servers of a cluster, and who owns which home. Shows nothing if the server is in none. */
export const Servers = () => (useStatus().data?.in_cluster ? <Overview /> : null)

function Overview() {
  const t = useT()
  const { data, error } = useCluster()
  if (!data) {
    return error ? <QueryError error={error} /> : <Skeleton label={t('loading')} />
  }
  const { homes } = data
  const servers = data.servers.filter(({ state, since_beat }) => state !== 'dead' || since_beat < SHOWN_DEAD)
  const left = data.home_count - homes.length
  return (
    <section className="space-y-3" aria-label={t('servers')}>
      <p className="text-fg-2 text-small">
        {t('serversDatabase', { time: duration(Math.max(1, data.database_seconds * 1000)) })}
      </p>
      <Table
        caption={t('servers')}
        heads={['serverAddress', 'serverState', 'serverWorks', 'serverHomes', 'serverBeat', 'aboutVersion']}
        rows={servers.map(server => ({
          key: server.id,
          cells: [
            server.id === data.this_server ? t('serverThis', { address: server.address }) : server.address,
            t(STATES[server.state]),
            count(server.state === 'dead' ? 0 : server.works),
            count(server.homes),
            duration(server.since_beat * 1000),
            server.version,
          ],
        }))}
      />
      <Table
        caption={t('serverHomes')}
        heads={['homeId', 'homeOwner', 'homeUnderWay', 'homeClaims', 'homeChange']}
        rows={homes.map(home => ({
          key: home.id,
          cells: [
            home.id,
            home.owner ?? t('homeNobody'),
            count(home.conversations_under_way),
            count(home.fence),
            count(home.last_change),
          ],
        }))}
      />
      {left > 0 && <p className="text-fg-2 text-small">{t('homesMore', { count: count(left) })}</p>}
    </section>
  )
}

interface TableProps {
  caption: string
  heads: readonly Key[]
  rows: readonly { key: string; cells: readonly string[] }[]
}

function Table({ caption, heads, rows }: TableProps) {
  const t = useT()
  return (
    // A table that is too wide scrolls by the arrow keys.
    <div className="overflow-x-auto rounded-sm" tabIndex={0} role="group" aria-label={caption}>
      <table className="w-full text-[12.5px] tabular-nums">
        <caption className="pb-1 text-start font-semibold">{caption}</caption>
        <thead className="text-fg-3 text-meta">
          <tr>
            {heads.map(head => (
              <th key={head} scope="col" className="py-1 pe-3 text-start align-bottom font-normal">
                {t(head)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key} className="border-t">
              {cells.map((cell, at) => (
                <td key={heads[at]} className="whitespace-nowrap py-1 pe-3">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
