import { useMemo, useRef } from 'react'
import { useLocation, useRouter } from 'wouter'
import { useApprovals } from '@/api/queries'
import { onDemand } from '@/components/onDemand'
import { Toasts } from '@/components/ui/Toasts'
import { useWidth } from '@/lib/useMedia'
import { CommandProvider } from './commandContext'
import { Dialogs } from './Dialogs'
import { Panes } from './Panes'
import { placeAt } from './pages'
import { SignInGate } from './SignInGate'
import { StatusRegion } from './StatusRegion'
import { useFileAddress } from './useFileAddress'
import { usePlace } from './usePlace'
import { useShortcuts } from './useShortcuts'
import { useWindowTitle } from './useWindowTitle'

const Attention = onDemand(() => import('@/features/approvals/Attention'))

/** The page: what its address names, and the context in which its commands run. */
export function Shell() {
  const width = useWidth()
  const [path, navigate] = useLocation()
  const { parser } = useRouter()
  const place = useMemo(() => placeAt(path, parser), [path, parser])
  const { sessionId } = place
  const input = useRef<HTMLTextAreaElement>(null)
  const context = useMemo(() => ({ sessionId, width, input, navigate }), [sessionId, width, navigate])
  useShortcuts(context)
  useFileAddress()
  usePlace(place, path)
  useWindowTitle(place)
  const asked = (useApprovals().data?.length ?? 0) > 0
  return (
    <CommandProvider value={context}>
      <Panes place={place} width={width} input={input} />
      <Dialogs />
      <Toasts />
      <SignInGate />
      <StatusRegion />
      {asked && <Attention />}
    </CommandProvider>
  )
}
