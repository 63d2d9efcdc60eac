import { useMemo, useState } from 'react'
import { onDemand } from '@/components/onDemand'
import { Pending } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { cspNonce } from '@/lib/nonce'
import { documentOf, type Previewable, pictureOf } from './preview'

const Diagram = onDemand(() => import('./Diagram'), Pending)

/** Shows what a finished code block draws. Scripts never run: a preview is to look at, and a model’s code is not trusted. */
export default function CodePreview({ code, kind }: { code: string; kind: Previewable }) {
  switch (kind) {
    case 'svg':
      return <Svg code={code} />
    case 'html':
      return <Html code={code} />
    case 'mermaid':
      return <Diagram code={code} />
  }
}

function Svg({ code }: { code: string }) {
  const t = useT()
  const [broken, setBroken] = useState(false)
  if (broken) return <p className="p-4 text-bad text-small">{t('previewBroken')}</p>
  return (
    <div className="h-80 bg-white p-3">
      <img
        src={pictureOf(code)}
        alt={t('previewAlt')}
        onError={() => setBroken(true)}
        className="block size-full object-contain"
      />
    </div>
  )
}

function Html({ code }: { code: string }) {
  const t = useT()
  const page = useMemo(() => documentOf(code, cspNonce), [code])
  return (
    <iframe
      title={t('previewAlt')}
      sandbox=""
      srcDoc={page}
      referrerPolicy="no-referrer"
      className="block h-80 w-full bg-white"
    />
  )
}
