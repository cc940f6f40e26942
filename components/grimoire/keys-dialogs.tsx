'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import type { ProblemDocument } from '#lib/client/request.ts'
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

interface StepsProps {
  problem: ProblemDocument | undefined
  fault: VaultCode | undefined
  isPending: boolean
  isIncomplete?: boolean
  action: string
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}
function Steps({ problem, fault, isPending, isIncomplete = false, action, onSubmit, onClose, children }: StepsProps) {
  const t = useTranslations('common')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isPending && !isIncomplete) onSubmit()
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-4">
      {problem && <ProblemAlert problem={problem} />}
      {fault && <VaultFault code={fault} />}
      {children}
      <div className="flex flex-wrap justify-end gap-2">
        <Button tone="plain" onClick={onClose}>
          {t('cancel')}
        </Button>
        <Button type="submit" aria-disabled={isPending || isIncomplete}>
          {isPending ? t('busy') : action}
        </Button>
      </div>
    </form>
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
  const common = useTranslations('common')
  const [present, setPresent] = useState('')
  const { fields, checked, clear } = useNewPassphrase()
  const { store, fault, isPending, wrap, put } = useWrapping(props)
  const isAsked = vault.openBy === 'passphrase'
  const change = async () => {
    const next = checked()
    if (next === undefined) return
    const wrapped = await wrap(() =>
      vault.ask('changePassphrase', {
        keyring: keyring.keyring,
        present: isAsked ? { by: 'passphrase', secret: present } : null,
        next,
      }),
    )
    if (!wrapped) return
    setPresent('')
    clear()
    put(wrapped)
  }
  return (
    <Dialog open onOpenChange={(isOpen) => !isOpen && onClose()} title={t('title')} lead={<p>{t('lead')}</p>}>
      {store.isSuccess ? (
        <div className="grid gap-4">
          <Alert tone="done" title={t('done')} isLive />
          <Button onClick={onClose} className="justify-self-end">
            {common('close')}
          </Button>
        </div>
      ) : (
        <Steps
          problem={store.problem}
          fault={fault}
          isPending={isPending}
          action={t('do')}
          onSubmit={change}
          onClose={onClose}
        >
          {isAsked && <Present by="passphrase" typed={present} set={setPresent} />}
          {fields}
        </Steps>
      )}
    </Dialog>
  )
}

/** Makes another recovery code. The previous one stays valid until the new one is saved and stored. */
export function CodeDialog(props: KeysDialogProps) {
  const { keyring, vault, onClose } = props
  const t = useTranslations('agentGrimoire.keys.code')
  const common = useTranslations('common')
  const by = vault.openBy ?? 'passphrase'
  const [present, setPresent] = useState('')
  const [made, setMade] = useState<Questions['changeCode']['gives']>()
  const [isKept, setKept] = useState(false)
  const { store, fault, isPending, wrap, put } = useWrapping(props)
  const make = async () => {
    const answer = await wrap(() =>
      vault.ask('changeCode', { keyring: keyring.keyring, present: { by, secret: present } }),
    )
    if (!answer) return
    setPresent('')
    setMade(answer)
  }
  return (
    <Dialog open onOpenChange={(isOpen) => !isOpen && onClose()} title={t('title')} lead={<p>{t('lead')}</p>}>
      {store.isSuccess ? (
        <div className="grid gap-4">
          <Alert tone="done" title={t('done')} isLive />
          <Button onClick={onClose} className="justify-self-end">
            {common('close')}
          </Button>
        </div>
      ) : (
        <Steps
          problem={store.problem}
          fault={fault}
          isPending={isPending}
          isIncomplete={made !== undefined && !isKept}
          action={t(made ? 'store' : 'make')}
          onSubmit={made ? () => put(made.keyring) : make}
          onClose={onClose}
        >
          {made ? (
            <RecoveryCode code={made.recoveryCode} agentId={keyring.agent_id} isKept={isKept} onKept={setKept} />
          ) : (
            <Present by={by} typed={present} set={setPresent} />
          )}
        </Steps>
      )}
    </Dialog>
  )
}
