import { useStatus } from '@/api/queries'
import type { Status } from '@/api/types'
import { Skeleton } from '@/components/ui/Skeleton'
import { type Key, useT } from '@/lib/i18n'

type Effect = Status['tools'][number]['effect']

const EFFECTS = {
  read: 'effectRead',
  write: 'effectWrite',
  execute: 'effectExecute',
  network: 'effectNetwork',
} as const satisfies Record<Effect, Key>

/** The tools of the server, by what they can change. */
export function Tools() {
  const t = useT()
  const tools = useStatus().data?.tools
  if (!tools) return <Skeleton label={t('loading')} />
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2 text-small">
      {(Object.keys(EFFECTS) as Effect[]).map(effect => {
        const names = tools.filter(tool => tool.effect === effect).map(tool => tool.name)
        return (
          names.length > 0 && (
            <div key={effect} className="contents">
              <dt className="py-0.5 text-fg-2">{t(EFFECTS[effect])}</dt>
              <dd className="flex min-w-0 flex-wrap gap-1.5">
                {names.map(name => (
                  <code key={name} className="rounded-md border bg-code px-1.5 py-0.5 font-mono text-[12px]">
                    {name}
                  </code>
                ))}
              </dd>
            </div>
          )
        )
      })}
    </dl>
  )
}
