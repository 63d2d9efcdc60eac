import '@/lib/later'
import { Dialog } from '@/components/ui/Dialog'
import { useT } from '@/lib/i18n'
import { NextRequest } from './NextRequest'
import { SentRequests } from './SentRequests'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  sessionId: string | null
  /** The work whose requests are shown; null for the next request. */
  work: string | null
}

/** What a model is sent: the file that each piece comes from, and its tokens. */
export default function Xray({ open, onOpenChange, sessionId, work }: Props) {
  const t = useT()
  const onLeave = () => onOpenChange(false)
  const ofAnswer = sessionId !== null && work !== null
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t(ofAnswer ? 'xrayOfAnswer' : 'xray')}>
      {ofAnswer ? (
        <SentRequests sessionId={sessionId} work={work} onLeave={onLeave} />
      ) : (
        <NextRequest sessionId={sessionId} onLeave={onLeave} />
      )}
    </Dialog>
  )
}
