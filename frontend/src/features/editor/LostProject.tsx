import { FolderX } from 'lucide-react'
import { isMulti } from '@/api/multi'
import { Banner } from '@/components/ui/Banner'
import { Button } from '@/components/ui/Button'
import { useCopy } from '@/components/ui/CopyButton'
import { download } from '@/lib/download'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import type { FileRef } from '@/lib/roots'
import { type Buffer, isDirty } from './buffer'
import { closeTab } from './tabs'

interface Props {
  file: FileRef
  /** The open text; null if none was loaded. */
  buffer: Buffer | null
}

/** Says that the project of an open file is gone. Edits can no longer be saved there, and are not lost. */
export default function LostProject({ file, buffer }: Props) {
  const t = useT()
  const text = buffer && isDirty(buffer) ? buffer.text : null
  const { copied, copy } = useCopy(() => text ?? '')
  return (
    <Banner
      tone="bad"
      icon={FolderX}
      role="alert"
      actions={
        <>
          {text !== null && (
            <>
              <Button size="small" onClick={copy}>
                {t(copied ? 'copied' : 'copyOwnText')}
              </Button>
              <Button
                size="small"
                onClick={() => download(file.path.split('/').at(-1) ?? file.path, new Blob([text]))}
              >
                {t('downloadFile')}
              </Button>
            </>
          )}
          <Button size="small" onClick={() => closeTab(file, 'discard')}>
            {t(text === null ? 'closeFile' : 'discardAndClose')}
          </Button>
        </>
      }
    >
      {[t(isMulti() ? 'projectLostShared' : 'projectLost'), text !== null && t('projectLostEdits')]
        .filter(Boolean)
        .join(' ')}
    </Banner>
  )
}
