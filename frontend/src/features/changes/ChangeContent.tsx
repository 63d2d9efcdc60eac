import type { ChangeSource } from '@/api/endpoints'
import { useT } from '@/lib/i18n'
import { contentOf, NOT_SHOWN, type ShownChange } from './kinds'
import { TextChange } from './TextChange'
import type { View } from './TextDiff'
import { Versions } from './Versions'

interface Props {
  source: ChangeSource
  file: ShownChange
  view: View
}

/** What changed in a file: the difference of two texts, or both versions of anything else. */
export function ChangeContent({ source, file, view }: Props) {
  const t = useT()
  const content = contentOf(file)
  const why = NOT_SHOWN[content]
  if (content === 'text') return <TextChange source={source} file={file} view={view} />
  return (
    <>
      {why && <p className="mb-2 text-[13px] text-fg-2">{t(why)}</p>}
      <Versions source={source} file={file} />
    </>
  )
}
