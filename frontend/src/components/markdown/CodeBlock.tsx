import { Eye } from 'lucide-react'
import { useState } from 'react'
import { onDemand } from '@/components/onDemand'
import { Button } from '@/components/ui/Button'
import { CopyButton } from '@/components/ui/CopyButton'
import { Pending } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { Highlighted } from './Highlighted'
import type { Previewable } from './preview'

const CodePreview = onDemand(() => import('./CodePreview'), Pending)

function previewable(language: string): Previewable | null {
  return language === 'svg' || language === 'html' || language === 'mermaid' ? language : null
}

interface Props {
  code: string
  language: string
  live?: boolean
}

export function CodeBlock({ code, language, live = false }: Props) {
  const t = useT()
  const [previewed, setPreviewed] = useState(false)
  const kind = live ? null : previewable(language)
  return (
    <figure className="codeblock" aria-label={`${language} ${t('code')}`.trim()}>
      <div className="flex items-center border-b ps-3 pe-1 text-[12px] text-fg-2">
        <span className="me-auto">{language || 'text'}</span>
        {kind && (
          <Button size="small" look="ghost" aria-pressed={previewed} onClick={() => setPreviewed(!previewed)}>
            <Eye size={14} aria-hidden />
            {t('preview')}
          </Button>
        )}
        <CopyButton text={() => code} label={t('copyCode')} words={t('copy')} />
      </div>
      {kind && previewed ? (
        <CodePreview code={code} kind={kind} />
      ) : (
        <pre tabIndex={0}>
          <Highlighted code={code} language={language} live={live} />
        </pre>
      )}
    </figure>
  )
}
