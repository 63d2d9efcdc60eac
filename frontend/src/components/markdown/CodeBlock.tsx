import { CopyButton } from '@/components/ui/CopyButton'
import { useT } from '@/lib/i18n'
import { Highlighted } from './Highlighted'

interface Props {
  code: string
  language: string
  live?: boolean
}

export function CodeBlock({ code, language, live = false }: Props) {
  const t = useT()
  return (
    <figure className="codeblock" aria-label={`${language} ${t('code')}`.trim()}>
      <div className="flex items-center justify-between border-b ps-3 pe-1 text-[12px] text-fg-2">
        <span>{language || 'text'}</span>
        <CopyButton text={() => code} label={t('copyCode')} words={t('copy')} />
      </div>
      <pre tabIndex={0}>
        <Highlighted code={code} language={language} live={live} />
      </pre>
    </figure>
  )
}
