import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { OperationList } from '#components/reference/operation-list.tsx'
import { OperationView } from '#components/reference/operation-view.tsx'
import { Page } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { apiReference } from '../reference.ts'

interface GroupPageProps {
  params: Promise<{ group: string }>
}

export const generateMetadata = async ({ params }: GroupPageProps): Promise<Metadata> => ({
  title: `${(await params).group} · ${(await getTranslations('reference'))('name')}`,
})

export default async function GroupPage({ params }: GroupPageProps) {
  const { group: name } = await params
  const { groups, schemas } = apiReference()
  const group = groups.find((one) => one.name === name)
  if (!group) notFound()
  const t = await getTranslations('reference')
  return (
    <Page
      width="wide"
      title={<span lang="en">{name}</span>}
      lead={
        <>
          <p lang="en">{group.description}</p>
          <p>
            <TextLink href="/docs/api">{t('name')}</TextLink>
          </p>
        </>
      }
    >
      <OperationList operations={group.operations} />
      <div className="grid">
        {group.operations.map((operation) => (
          <OperationView key={operation.operationId} operation={operation} schemas={schemas} />
        ))}
      </div>
    </Page>
  )
}
