'use client'

import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/browser'
import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { DialogFooter } from '#components/ui/dialog-footer.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { addPasskeyAt, startPasskeyAt, touchedByFactors } from './endpoints.ts'

/** Adds a passkey of this browser, of a phone or of a security key. */
export function AddPasskey({ onCodes }: { onCodes: (codes: string[] | undefined) => void }) {
  const t = useTranslations('secondFactors.passkey')
  const [isOpen, setOpen] = useState(false)
  const [isDismissed, setDismissed] = useState(false)
  const starting = useApiMutation(startPasskeyAt, { isQuiet: true })
  const adding = useApiMutation(addPasskeyAt, { touches: touchedByFactors })
  const isPending = starting.isPending || adding.isPending
  const close = () => {
    setOpen(false)
    setDismissed(false)
    starting.reset()
    adding.reset()
  }
  const register = async (name: string, options: Record<string, unknown>) => {
    const { startRegistration } = await import('@simplewebauthn/browser')
    // The server made these options with the library of the same version.
    const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON
    try {
      const response = await startRegistration({ optionsJSON })
      adding.begin({ body: { name, response: { ...response } } }, ({ data }) => {
        close()
        onCodes(data.recovery_codes)
      })
    } catch {
      setDismissed(true)
    }
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const name = String(new FormData(event.currentTarget).get('name'))
    setDismissed(false)
    starting.begin({}, ({ data }) => void register(name, data))
  }
  const problem = starting.problem ?? adding.problem
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('add')}</Button>
      <Dialog
        open={isOpen}
        onOpenChange={(open) => (open ? setOpen(true) : close())}
        title={t('add')}
        lead={<p>{t('text')}</p>}
      >
        <form onSubmit={submit} className="grid gap-5">
          {problem && <ProblemAlert problem={problem} />}
          {isDismissed && <Alert tone="warning" title={t('dismissed')} isLive />}
          <Field label={t('name')} name="name" defaultValue={t('nameDefault')} maxLength={100} required />
          <DialogFooter>
            <Button type="submit" aria-disabled={isPending}>
              {t('continue')}
            </Button>
          </DialogFooter>
        </form>
      </Dialog>
    </>
  )
}
