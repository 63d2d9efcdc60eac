import { Pencil, RefreshCw, Trash2 } from 'lucide-react'
import { useRef, useState } from 'react'
import { checkOwnProvider, removeOwnProvider } from '@/api/ownProviders'
import type { OwnProvider } from '@/api/types'
import { IconButton } from '@/components/ui/Button'
import { ConfirmLine } from '@/features/project/ConfirmLine'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { EditOwnProvider } from './EditOwnProvider'
import { changeOwn, ownProblem } from './ownChanges'
import { DOT, stateOf } from './state'

const KEYS = { none: 'providerNoKey', set: 'ownKeySet', unreadable: 'ownKeyUnreadable' } as const

interface Props {
  provider: OwnProvider
  /** It is removed, and the button that was pressed with it. */
  onRemoved: () => void
}

/** A provider of the person: its true state, and what can be done with it. */
export function OwnProviderCard({ provider, onRemoved }: Props) {
  const t = useT()
  const { id, name, base_url: address, detail, models } = provider
  const [mode, setMode] = useState<'edit' | 'remove' | null>(null)
  const [busy, setBusy] = useState(false)
  const { words, tone } = stateOf(provider, t)
  const problem = detail && ownProblem(detail)
  const editButton = useRef<HTMLButtonElement>(null)
  const removeButton = useRef<HTMLButtonElement>(null)
  const checkNow = async () => {
    setBusy(true)
    await changeOwn(checkOwnProvider(id))
    setBusy(false)
  }
  const remove = async () => {
    removeButton.current?.focus()
    setMode(null)
    if (await changeOwn(removeOwnProvider(id))) onRemoved()
  }
  const toggle = (wanted: 'edit' | 'remove') => setMode(mode === wanted ? null : wanted)
  return (
    <article aria-label={name} className="rounded-lg border bg-card px-3 py-2">
      <div className="flex items-start gap-1">
        <div className="min-w-0 flex-1 text-small">
          <p className="flex flex-wrap items-center gap-x-2">
            <span className="font-semibold text-[13px]">{name}</span>
            <span className="inline-flex items-center gap-1.5 text-fg-2" role="status">
              <span aria-hidden className={cn('size-2 shrink-0 rounded-full', DOT[tone])} />
              {words}
            </span>
          </p>
          <p className="font-mono text-[12px] text-fg-3 [overflow-wrap:anywhere]">{address}</p>
          <p className="text-fg-3 text-meta">
            {t(KEYS[provider.key])} · {t('ownModels', { n: models.length })}
          </p>
          {problem && <p className="mt-0.5 text-fg-2 [overflow-wrap:anywhere]">{problem}</p>}
        </div>
        <IconButton
          size="smallIcon"
          label={t('providerCheckNow', { name })}
          disabled={busy || provider.key === 'unreadable'}
          onClick={checkNow}
        >
          <RefreshCw size={13} aria-hidden className={cn(busy && 'spin')} />
        </IconButton>
        <IconButton
          ref={editButton}
          size="smallIcon"
          label={t('providerEdit', { name })}
          aria-expanded={mode === 'edit'}
          onClick={() => toggle('edit')}
        >
          <Pencil size={13} aria-hidden />
        </IconButton>
        <IconButton
          ref={removeButton}
          size="smallIcon"
          label={t('providerRemove', { name })}
          aria-expanded={mode === 'remove'}
          onClick={() => toggle('remove')}
        >
          <Trash2 size={13} aria-hidden />
        </IconButton>
      </div>
      {mode === 'edit' && (
        <EditOwnProvider
          provider={provider}
          onDone={() => {
            editButton.current?.focus()
            setMode(null)
          }}
        />
      )}
      {mode === 'remove' && (
        <div className="mt-2">
          <ConfirmLine
            question={t('ownProviderRemoveSure', { name })}
            action={t('providerRemoveNow')}
            onCancel={() => {
              removeButton.current?.focus()
              setMode(null)
            }}
            onConfirm={() => void remove()}
          />
        </div>
      )}
    </article>
  )
}
