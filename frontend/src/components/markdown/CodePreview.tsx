import { useMemo, useState } from 'react'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { cspNonce } from '@/lib/nonce'
import { documentOf, type Previewable, pictureOf } from './preview'

/** Shows what a finished code block draws. Scripts never run: a preview is to look at, and a model’s code is not trusted. */
export default function CodePreview({ code, kind }: { code: string; kind: Previewable }) {
  return kind === 'svg' ? <Svg code={code} /> : <Html code={code} />
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
