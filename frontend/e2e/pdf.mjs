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
  // The byte keeps it from being taken for text.
  let out = '%PDF-1.4\n%\xff\n'
  const places = objects.map(([number, body]) => {
    const at = out.length
    out += `${number} 0 obj\n${body}\nendobj\n`
    return `${number} 1\n${String(at).padStart(10, '0')} 00000 n \n`
  })
  out += `xref\n${places.join('')}trailer<</Size 99/Root 1 0 R>>\nstartxref\n${out.length}\n%%EOF`
  return Buffer.from(out, 'latin1')
}
