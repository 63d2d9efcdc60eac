import { useRef } from 'react'
import { Button } from '@/components/ui/Button'

interface Props {
  label: string
  onFiles: (files: FileList) => void
}

/** A button that opens the system's dialog for a folder. */
export function FolderButton({ label, onFiles }: Props) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        type="file"
        ref={element => {
          input.current = element
          // React does not know the attribute.
          element?.setAttribute('webkitdirectory', '')
        }}
        multiple
        hidden
        onChange={event => {
          if (event.target.files) onFiles(event.target.files)
          // Allows choosing the same folder again.
          event.target.value = ''
        }}
      />
      <Button size="small" data-field="files" onClick={() => input.current?.click()}>
        {label}
      </Button>
    </>
  )
}
