import { useCallback, useEffect, useRef, useState } from 'react'
import { type VerificationResult, verifyReceiptText } from './verify-receipt.ts'

const idForm = /^rcpt_[0-9A-Za-z]{22}$/

/** The receipt with this id from this installation; undefined if there is none or the request fails. */
async function issuedHere(id: string): Promise<string | undefined> {
  const response = await fetch(`/v1/receipts/${id}`).catch(() => undefined)
  if (!response?.ok) return undefined
  return JSON.stringify(await response.json(), null, 2)
}

/** The text of a receipt and the result of its verification. */
export function useVerification() {
  const [text, setText] = useState('')
  const [verdict, setVerdict] = useState<VerificationResult | { kind: 'notFound' }>()
  const [isBusy, setBusy] = useState(false)
  const attempt = useRef(0)

  const check = useCallback(async (given: string, key: string | undefined) => {
    attempt.current += 1
    const own = attempt.current
    setBusy(true)
    // The text is a receipt id, and this installation may have that receipt.
    const isId = idForm.test(given.trim())
    const receipt = isId ? await issuedHere(given.trim()) : given
    const found = receipt === undefined ? ({ kind: 'notFound' } as const) : await verifyReceiptText(receipt, key)
    // Another check started meanwhile.
    if (own !== attempt.current) return
    if (isId && receipt !== undefined) setText(receipt)
    setVerdict(found)
    setBusy(false)
  }, [])
  /** Drops the result, also that of a running check. */
  const forget = () => {
    attempt.current += 1
    setBusy(false)
    setVerdict(undefined)
  }
  const change = (next: string) => {
    forget()
    setText(next)
  }
  // Receipt pages link here with the id in the fragment, which no server receives.
  useEffect(() => {
    const read = () => {
      const id = window.location.hash.slice(1)
      if (!idForm.test(id)) return
      setText(id)
      void check(id, undefined)
    }
    read()
    window.addEventListener('hashchange', read)
    return () => window.removeEventListener('hashchange', read)
  }, [check])

  return { text, verdict, isBusy, check, change, forget }
}
