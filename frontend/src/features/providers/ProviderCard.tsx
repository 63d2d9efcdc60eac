import { Pencil, RefreshCw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { Provider } from '@/api/types'
import { IconButton } from '@/components/ui/Button'
import { Disclosure } from '@/components/ui/Disclosure'
import { cn } from '@/lib/cn'
import { say, useT } from '@/lib/i18n'
import { failureIn } from '@/lib/server'
import { useFold } from '@/stores/folds'
import { check } from './changes'
import { EditProvider } from './EditProvider'
import { ModelList } from './ModelList'
import { RemoveProvider } from './RemoveProvider'
import { DOT, keyPlace, readOnlyReason, stateOf } from './state'

/** A provider: its address, its true state, what can be done with it, and its models. */
export function ProviderCard({ provider }: { provider: Provider }) {
  const t = useT()
  const { id, name, base_url: address, detail, editable } = provider
  const [open, setOpen] = useFold(`provider-${id}`, false)
  const [mode, setMode] = useState<'edit' | 'remove' | null>(null)
  const [busy, setBusy] = useState(false)
  const { words, tone } = stateOf(provider, t)
  const reason = readOnlyReason(provider, t)
  const problem =
    detail && (failureIn(say, detail.code, { ...detail.params, message: detail.message }) ?? detail.message)
  const checkNow = async () => {
    setBusy(true)
    await check(id)
    setBusy(false)
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
          {address && <p className="font-mono text-[12px] text-fg-3 [overflow-wrap:anywhere]">{address}</p>}
          <p className="text-fg-3 text-meta">
            {[address && keyPlace(provider, t), reason].filter(Boolean).join(' · ')}
          </p>
          {problem && <p className="mt-0.5 text-fg-2 [overflow-wrap:anywhere]">{problem}</p>}
        </div>
        {address && (
          <IconButton
            size="smallIcon"
            label={t('providerCheckNow', { name })}
            disabled={busy}
            onClick={checkNow}
          >
            <RefreshCw size={13} aria-hidden className={cn(busy && 'spin')} />
          </IconButton>
        )}
        {editable && (
          <>
            <IconButton
              size="smallIcon"
              label={t('providerEdit', { name })}
              aria-expanded={mode === 'edit'}
              onClick={() => toggle('edit')}
            >
              <Pencil size={13} aria-hidden />
            </IconButton>
            <IconButton
              size="smallIcon"
              label={t('providerRemove', { name })}
              aria-expanded={mode === 'remove'}
              onClick={() => toggle('remove')}
            >
              <Trash2 size={13} aria-hidden />
            </IconButton>
          </>
        )}
      </div>
      {mode === 'edit' && <EditProvider provider={provider} onDone={() => setMode(null)} />}
      {mode === 'remove' && <RemoveProvider provider={provider} onDone={() => setMode(null)} />}
      <Disclosure
        open={open}
        onToggle={setOpen}
        summaryClass="mt-1 rounded-md py-1 text-fg-2 text-small hover:text-fg"
        summary={
          <span className="me-auto">
            {t('modelsShown', {
              shown: provider.models.filter(({ enabled }) => enabled).length,
              n: provider.models.length,
            })}
          </span>
        }
      >
        <ModelList provider={provider} />
      </Disclosure>
    </article>
  )
}
