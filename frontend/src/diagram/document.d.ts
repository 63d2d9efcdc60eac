/** The address of the document that draws, which scripts/diagram.mjs makes from frame.ts. */
declare module 'virtual:diagram-document' {
  const address: string
  export default address
}
