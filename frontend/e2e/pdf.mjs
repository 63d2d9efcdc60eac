import { crc32 } from 'node:zlib'

/** The smallest PDF with one page of text per entry. */
export function pdfOf(pages) {
  const kids = pages.map((_, n) => `${10 + 2 * n} 0 R`).join(' ')
  const objects = [
    [1, '<</Type/Catalog/Pages 2 0 R>>'],
    [2, `<</Type/Pages/Count ${pages.length}/Kids[${kids}]>>`],
    [3, '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>'],
    ...pages.flatMap((text, n) => {
      const body = `BT /F1 12 Tf 72 720 Td (${text}) Tj ET`
      const look = '/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>'
      return [
        [10 + 2 * n, `<</Type/Page/Parent 2 0 R${look}/Contents ${11 + 2 * n} 0 R>>`],
        [11 + 2 * n, `<</Length ${body.length}>>stream\n${body}\nendstream`],
      ]
    }),
  ]
  // The byte keeps it from being detected as text.
  let out = '%PDF-1.4\n%\xff\n'
  const places = objects.map(([number, body]) => {
    const at = out.length
    out += `${number} 0 obj\n${body}\nendobj\n`
    return `${number} 1\n${String(at).padStart(10, '0')} 00000 n \n`
  })
  out += `xref\n${places.join('')}trailer<</Size 99/Root 1 0 R>>\nstartxref\n${out.length}\n%%EOF`
  return Buffer.from(out, 'latin1')
}

/** A PDF with a form that draws itself: if the server's own process read it, that process would die. */
export function loopingPdf() {
  const text = pdfOf(['x']).toString('latin1')
  const form =
    '<</Type/XObject/Subtype/Form/BBox[0 0 1 1]/Resources<</XObject<</X 3 0 R>>>>/Length 5>>stream\n/X Do\nendstream'
  const objects = text
    .replace(/3 0 obj[\s\S]*?endobj/, `3 0 obj\n${form}\nendobj`)
    .replace('/Font<</F1 3 0 R>>', '/XObject<</X 3 0 R>>')
    .replace(/<<\/Length \d+>>stream\n.*\nendstream/, '<</Length 5>>stream\n/X Do\nendstream')
  const body = objects.slice(0, objects.indexOf('xref\n'))
  const places = [...body.matchAll(/^(\d+) 0 obj/gm)].map(
    ({ 1: number, index }) => `${number} 1\n${String(index).padStart(10, '0')} 00000 n \n`,
  )
  return Buffer.from(
    `${body}xref\n${places.join('')}trailer<</Size 99/Root 1 0 R>>\nstartxref\n${body.length}\n%%EOF`,
    'latin1',
  )
}

/** A Word document with a heading and a paragraph: a zip archive with stored members. */
export function docxOf(heading, paragraph) {
  const text = words => `<w:r><w:t>${words}</w:t></w:r>`
  const xml = `<w:document><w:body><w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr>${text(heading)}</w:p><w:p>${text(paragraph)}</w:p></w:body></w:document>`
  const [data, name] = [Buffer.from(xml), Buffer.from('word/document.xml')]
  const common = Buffer.alloc(26)
  common.writeUInt16LE(20, 0)
  common.writeUInt32LE(crc32(data), 10)
  common.writeUInt32LE(data.length, 14)
  common.writeUInt32LE(data.length, 18)
  common.writeUInt16LE(name.length, 22)
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, data])
  const entry = Buffer.concat([Buffer.from('PK\x01\x02\x14\0'), common, Buffer.alloc(14), name])
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(entry.length, 12)
  end.writeUInt32LE(local.length, 16)
  return Buffer.concat([local, entry, end])
}
