'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { DialogFooter } from '#components/ui/dialog-footer.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { type StoredKeyring, storeKeyringAt } from './endpoints.ts'
import { useNewPassphrase } from './new-passphrase.tsx'
import { RecoveryCode } from './recovery-code.tsx'
import type { OpenVault } from './use-vault.ts'
import { vaultCode } from './vault.ts'
import { VaultFault } from './vault-fault.tsx'
import type { Opening, Questions, VaultCode } from './vault-protocol.ts'

interface KeysDialogProps {
  keyring: StoredKeyring
  vault: OpenVault
  onClose: () => void
}

/** Rewraps the same keys and stores the result. Reports faults and whether a request is pending. */
function useWrapping({ keyring }: KeysDialogProps) {
  const [isWrapping, setWrapping] = useState(false)
  const [fault, setFault] = useState<VaultCode>()
  const store = useApiMutation(storeKeyringAt)
  return {
    store,
    fault,
    isPending: isWrapping || store.isPending,
    wrap: async <T,>(work: () => Promise<T>): Promise<T | undefined> => {
      setFault(undefined)
      setWrapping(true)
      try {
        return await work()
      } catch (error) {
        setFault(vaultCode(error))
        return undefined
      } finally {
        setWrapping(false)
      }
    },
    put: (next: StoredKeyring['keyring']) =>
      store.begin({ params: { id: keyring.agent_id }, body: { keyring: next, revision: keyring.revision } }),
  }
}

interface KeysFormProps {
  title: string
  lead: string
  done: string
  action: string
  wrapping: Pick<ReturnType<typeof useWrapping>, 'store' | 'fault' | 'isPending'>
  isIncomplete?: boolean
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}
/** A dialog with a form, and with its outcome after success. */
function KeysForm({
  title,
  lead,
  done,
  action,
  wrapping,
  isIncomplete = false,
  onSubmit,
  onClose,
  children,
}: KeysFormProps) {
  const t = useTranslations('common')
  const { store, fault, isPending } = wrapping
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isPending && !isIncomplete) onSubmit()
  }
  return (
    <Dialog open onOpenChange={(isOpen) => !isOpen && onClose()} title={title} lead={<p>{lead}</p>}>
      {store.isSuccess ? (
        <div className="grid gap-4">
          <Alert tone="done" title={done} isLive />
          <DialogFooter>
            <Button onClick={onClose}>{t('close')}</Button>
          </DialogFooter>
        </div>
      ) : (
        <form method="post" onSubmit={submit} className="grid gap-4">
          {store.problem && <ProblemAlert problem={store.problem} />}
          {fault && <VaultFault code={fault} />}
          {children}
          <DialogFooter>
            <Button tone="plain" onClick={onClose}>
              {t('cancel')}
            </Button>
            <Button type="submit" aria-disabled={isPending || isIncomplete}>
              {isPending ? t('busy') : action}
            </Button>
          </DialogFooter>
        </form>
      )}
    </Dialog>
  )
}

/** Asks for the current passphrase or recovery code again, because an open page may be unattended. */
function Present({ by, typed, set }: { by: Opening['by']; typed: string; set: (typed: string) => void }) {
  const t = useTranslations('agentGrimoire.unlock')
  return (
    <Field
      label={t(`${by}.label`)}
      type={by === 'passphrase' ? 'password' : 'text'}
      autoComplete={by === 'passphrase' ? 'current-password' : 'off'}
      spellCheck={false}
      className={by === 'code' ? 'font-mono' : undefined}
      value={typed}
      onChange={({ target }) => set(target.value)}
      required
    />
  )
}

/** Sets another passphrase for the same keys without changing entries. A user who opened with the recovery code need not enter it again. */
export function PassphraseDialog(props: KeysDialogProps) {
  const { keyring, vault, onClose } = props
  const t = useTranslations('agentGrimoire.keys.passphrase')
  const [present, setPresent] = useState('')
  const { fields, checked, clear } = useNewPassphrase()
  const wrapping = useWrapping(props)
  const isAsked = vault.openBy === 'passphrase'
  const change = async () => {
    const next = checked()
    if (next === undefined) return
    const wrapped = await wrapping.wrap(() =>
      vault.ask('changePassphrase', {
        keyring: keyring.keyring,
        present: isAsked ? { by: 'passphrase', secret: present } : null,
        next,
      }),
    )
    if (!wrapped) return
    setPresent('')
    clear()
    wrapping.put(wrapped)
  }
  return (
    <KeysForm
      title={t('title')}
      lead={t('lead')}
      done={t('done')}
      action={t('do')}
      wrapping={wrapping}
      onSubmit={change}
      onClose={onClose}
    >
      {isAsked && <Present by="passphrase" typed={present} set={setPresent} />}
      {fields}
    </KeysForm>
  )
}

/** Makes another recovery code. The previous one stays valid until the new one is saved and stored. */
export function CodeDialog(props: KeysDialogProps) {
  const { keyring, vault, onClose } = props
  const t = useTranslations('agentGrimoire.keys.code')
  const by = vault.openBy ?? 'passphrase'
  const [present, setPresent] = useState('')
  const [made, setMade] = useState<Questions['changeCode']['gives']>()
  const [isKept, setKept] = useState(false)
  const wrapping = useWrapping(props)
  const make = async () => {
    const answer = await wrapping.wrap(() =>
      vault.ask('changeCode', { keyring: keyring.keyring, present: { by, secret: present } }),
    )
    if (!answer) return
    setPresent('')
    setMade(answer)
  }
  return (
    <KeysForm
      title={t('title')}
      lead={t('lead')}
      done={t('done')}
      action={t(made ? 'store' : 'make')}
      wrapping={wrapping}
      isIncomplete={made !== undefined && !isKept}
      onSubmit={made ? () => wrapping.put(made.keyring) : make}
      onClose={onClose}
    >
      {made ? (
        <RecoveryCode code={made.recoveryCode} agentId={keyring.agent_id} isKept={isKept} onKept={setKept} />
      ) : (
        <Present by={by} typed={present} set={setPresent} />
      )}
    </KeysForm>
  )
}
