import { useQuery } from '@tanstack/react-query'
import { FileText, type LucideIcon, MessageSquareText, Plug } from 'lucide-react'
import { type RefObject, useEffect, useState } from 'react'
import { listPrompts, listResources, useMcpServers } from '@/api/mcp'
import type { McpPrompt } from '@/api/types'
import { ErrorText } from '@/components/ui/ErrorText'
import { Visible } from '@/components/Visible'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { reasonOf } from '@/lib/reason'
import type { Wanted } from './wanted'

/** What the message box does with the list while it has the focus. */
export interface OfferKeys {
  move: (by: number) => void
  /** Returns false if there is nothing to pick. */
  pick: () => boolean
}

export type Offer =
  | { kind: 'server'; server: string }
  | { kind: 'resource'; server: string; uri: string; isTemplate: boolean }
  | { kind: 'prompt'; server: string; prompt: McpPrompt }

interface Shown {
  offer: Offer
  title: string
  hint: string
}

interface Props {
  id: string
  wanted: Wanted
  keys: RefObject<OfferKeys | null>
  onPick: (offer: Offer) => void
  onActive: (id: string | null) => void
}

const MOST = 50
const ICONS: Record<Offer['kind'], LucideIcon> = {
  server: Plug,
  resource: FileText,
  prompt: MessageSquareText,
}

/** What fits the text that a person writes: servers, then what one of them has. */
export default function OfferList({ id, wanted, keys, onPick, onActive }: Props) {
  const t = useT()
  const { kind, server, query } = wanted
  const servers = (useMcpServers().data?.servers ?? []).filter(
    ({ status }) => status !== 'unconfirmed' && status !== 'broken',
  )
  const known = query !== null && servers.some(({ name }) => name === server)
  const offered = useQuery({
    queryKey: ['mcp', kind, server],
    queryFn: () => offersOf(kind, server),
    enabled: known,
    staleTime: 60_000,
    retry: false,
  })
  const all: Shown[] =
    query === null
      ? servers.map(({ name }) => ({ offer: { kind: 'server', server: name }, title: name, hint: '' }))
      : (offered.data ?? [])
  const sought = (query ?? server).toLowerCase()
  const found = all
    .filter(({ title, hint }) => `${title}\n${hint}`.toLowerCase().includes(sought))
    .slice(0, MOST)
  // An address that a template describes, or that the list does not have.
  const isNew = kind === 'resource' && query?.includes(':') && !found.some(({ hint }) => hint === query)
  const typed = isNew ? query : null
  const shown: Shown[] = typed
    ? [
        ...found,
        { offer: { kind: 'resource', server, uri: typed, isTemplate: false }, title: typed, hint: '' },
      ]
    : found
  const [at, setAt] = useState(0)
  const active = Math.min(at, shown.length - 1)
  const isShown = shown.length > 0 || (known && (offered.error !== null || offered.isPending))
  useEffect(() => {
    // A list that is not there takes no keys.
    keys.current = isShown
      ? {
          move: by => setAt((Math.max(active, 0) + by + shown.length) % Math.max(shown.length, 1)),
          pick: () => {
            const chosen = shown[active]
            if (chosen) onPick(chosen.offer)
            return chosen !== undefined
          },
        }
      : null
    onActive(active < 0 ? null : `${id}-${active}`)
    return () => {
      keys.current = null
    }
  })
  useEffect(() => {
    if (active >= 0) document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, active])
  if (!isShown) return null
  return (
    <div className="floating absolute inset-x-0 bottom-full z-30 mb-1 rounded-lg p-1">
      {offered.error && <ErrorText className="px-2 py-1">{reasonOf(offered.error)}</ErrorText>}
      {known && offered.isPending && <p className="px-2 py-1 text-fg-2 text-small">{t('loading')}</p>}
      <div
        id={id}
        role="listbox"
        aria-label={t(kind === 'prompt' ? 'mcpPrompts' : 'mcpResources')}
        className="scroll max-h-60 overflow-y-auto"
      >
        {shown.map(({ offer, title, hint }, i) => {
          const Icon = ICONS[offer.kind]
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the message box has the focus and its keys
            <div
              key={`${title}\n${hint}`}
              id={`${id}-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === active}
              // The message box keeps the focus.
              onMouseDown={event => event.preventDefault()}
              onClick={() => onPick(offer)}
              className={cn(
                'flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-[13px] pointer-coarse:min-h-11',
                i === active && 'bg-sel',
              )}
            >
              <Icon size={14} aria-hidden className="shrink-0" />
              <span className="min-w-0 flex-1 truncate">
                <Visible text={title} />
              </span>
              {hint !== '' && hint !== title && (
                <span className="max-w-[60%] truncate font-mono text-[12px] text-fg-3">
                  <Visible text={hint} />
                </span>
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

async function offersOf(kind: Wanted['kind'], server: string): Promise<Shown[]> {
  if (kind === 'prompt') {
    const { prompts } = await listPrompts(server)
    return prompts.map(prompt => ({
      offer: { kind, server, prompt },
      title: prompt.title,
      hint: prompt.name,
    }))
  }
  const { resources } = await listResources(server)
  return resources.map(({ uri, title, is_template }) => ({
    offer: { kind, server, uri, isTemplate: is_template },
    title,
    hint: uri,
  }))
}
