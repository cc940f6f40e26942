'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Button, ButtonLink, PlainButtonLink } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Space } from '#components/ui/punctuation.ts'
import { PlainLink } from '#components/ui/text-link.tsx'
import {
  agentDocumentFile,
  deleteDocumentAt,
  documentDraftKey,
  documentPage,
  documentsPage,
  documentsTouched,
  unwritten,
} from './documents.ts'
import { isolated } from './names.ts'

interface DocumentActionsProps {
  agentId: string
  id: string
  title: string
  mayEdit: boolean
  mayDelete: boolean
}
/** The actions for a document. */
export function DocumentActions({ agentId, id, title, mayEdit, mayDelete }: DocumentActionsProps) {
  const t = useTranslations('agentDocuments.one')
  const router = useRouter()
  const [isOpen, setOpen] = useState(false)
  const { clear } = useDraft(documentDraftKey(id), unwritten)
  // Quiet: refreshing this page would report that its document does not exist.
  const remove = useApiMutation(deleteDocumentAt, { touches: documentsTouched, isQuiet: true })
  return (
    <div className="flex flex-wrap gap-2">
      {mayEdit && (
        <ButtonLink tone="plain" href={`${documentPage(agentId, id)}?edit=1`}>
          {t('edit')}
        </ButtonLink>
      )}
      <PlainButtonLink tone="plain" href={agentDocumentFile(agentId, id)} download>
        {t('download')}
      </PlainButtonLink>
      {mayDelete && (
        <>
          <Button tone="danger" onClick={() => setOpen(true)}>
            {t('delete')}
          </Button>
          <Confirm
            open={isOpen}
            onOpenChange={setOpen}
            title={t('ask', { title: isolated(title) })}
            consequences={
              <>
                <p>{t('goes')}</p>
                <p>{t('stays')}</p>
              </>
            }
            action={t('do')}
            change={remove}
            onConfirm={() =>
              remove.begin({ params: { id: agentId, documentId: id } }, () => {
                clear()
                router.replace(documentsPage(agentId))
              })
            }
          >
            <p>
              {t('keep')}
              <Space />
              <PlainLink href={agentDocumentFile(agentId, id)} download>
                {t('download')}
              </PlainLink>
            </p>
          </Confirm>
        </>
      )}
    </div>
  )
}
