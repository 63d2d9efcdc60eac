import { type ComponentType, type ReactNode, useEffect, useState } from 'react'
import { t, useT } from '@/lib/i18n'
import { toast } from '@/stores/toasts'
import { Button } from './ui/Button'

type Load<P> = () => Promise<{ default: ComponentType<P> }>

export interface OnDemand<P> {
  (props: P): ReactNode
  /** Loads the component before it is shown. */
  preload: () => void
}

/**
 * A component that is loaded when it is first shown, with `Pending` in its place until then. Unlike with React's
 * `lazy`, it is shown as soon as it is loaded, whereas a Suspense boundary may wait 300 ms after the enclosing one;
 * and if it cannot be loaded, the page stays and shows an error. It is first rendered in a task of its own, because
 * the page responds between tasks.
 */
export function onDemand<P extends object>(load: Load<P>, Pending?: ComponentType): OnDemand<P> {
  let shown: ComponentType<P> | null = null
  let loading: ReturnType<typeof load> | null = null
  const get = () => {
    loading ??= load().catch((error: unknown) => {
      loading = null
      throw error
    })
    return loading
  }
  function Demanded(props: P) {
    const [state, setState] = useState<'waits' | 'there' | 'failed'>('waits')
    useEffect(() => {
      if (state !== 'waits') return
      let gone = false
      const told = (now: 'there' | 'failed') => {
        if (gone) return
        setState(now)
        if (now === 'failed' && !Pending)
          toast(t('partFailed'), {
            tone: 'bad',
            action: { label: t('tryAgain'), run: () => setState('waits') },
          })
      }
      void get().then(
        module =>
          setTimeout(() => {
            shown = module.default
            told('there')
          }),
        () => told('failed'),
      )
      return () => {
        gone = true
      }
    }, [state])
    if (shown) {
      const Loaded = shown
      return <Loaded {...props} />
    }
    if (!Pending) return null
    return state === 'failed' ? <Failed onRetry={() => setState('waits')} /> : <Pending />
  }
  Demanded.preload = () => void get().catch(() => undefined)
  return Demanded
}

function Failed({ onRetry }: { onRetry: () => void }) {
  const t = useT()
  return (
    <div role="alert" className="m-auto space-y-2 p-6 text-center text-bad text-small">
      <p>{t('partFailed')}</p>
      <Button onClick={onRetry}>{t('tryAgain')}</Button>
    </div>
  )
}
