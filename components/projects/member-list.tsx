'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { isolated } from '#components/agents/names.ts'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import {
  addMemberAt,
  type Member,
  type ProjectMemberPage,
  projectMembersAt,
  projectPaths,
  projectRowsPerPage,
  removeMemberAt,
} from './endpoints.ts'

const isReader = ({ kind, member_id }: Member, me: string) => kind === 'account' && member_id === me
const nameOf = ({ name, member_id }: Member) => name ?? member_id

function useMemberColumns(me: string, actions: (member: Member) => ReactNode): ShownColumn<Member>[] {
  const t = useTranslations('projects.members')
  const roles = useTranslations('projects.roles')
  return [
    {
      key: 'member',
      title: t('columns.member'),
      main: true,
      minWidth: 'medium',
      value: nameOf,
      cell: (member) => (
        <>
          <bdi>{member.name ?? (member.kind === 'agent' ? member.member_id : t('unnamed'))}</bdi>
          {isReader(member, me) && <span className="font-normal text-accent"> · {t('you')}</span>}
        </>
      ),
    },
    {
      key: 'kind',
      title: t('columns.kind'),
      value: ({ kind }) => t(`kinds.${kind}`),
    },
    { key: 'role', title: t('columns.role'), value: ({ role }) => roles(role), cell: ({ role }) => roles(role) },
    {
      key: 'since',
      title: t('columns.since'),
      value: ({ added_at }) => added_at,
      cell: ({ added_at }) => <Time at={added_at} isDay />,
    },
    {
      key: 'id',
      title: t('columns.id'),
      isHiddenAtFirst: true,
      value: ({ member_id }) => member_id,
      cell: ({ member_id }) => <CopyableId id={member_id} what={t('columns.id')} />,
    },
    {
      key: 'actions',
      title: t('columns.actions'),
      isTitleHidden: true,
      cell: actions,
    },
  ]
}

interface MemberActionsProps {
  member: Member
  /** The reader is an owner. */
  isOwner: boolean
  /** The member is the reader. */
  isMe: boolean
  isBusy: boolean
  onRole: (role: Member['role']) => void
  onRemove: () => void
}
function MemberActions({ member, isOwner, isMe, isBusy, onRole, onRemove }: MemberActionsProps) {
  const t = useTranslations('projects.members')
  return (
    <span className="flex flex-wrap gap-2">
      {isOwner && (
        <Button
          tone="plain"
          size="small"
          aria-label={t(`makeNamed.${member.role}`, { name: nameOf(member) })}
          aria-disabled={isBusy}
          onClick={() => onRole(member.role === 'owner' ? 'member' : 'owner')}
        >
          {t(`make.${member.role}`)}
        </Button>
      )}
      {(isOwner || isMe) && (
        <Button
          tone="plain"
          size="small"
          aria-label={isMe ? t('leave') : t('removeNamed', { name: nameOf(member) })}
          onClick={onRemove}
        >
          {t(isMe ? 'leave' : 'remove')}
        </Button>
      )}
    </span>
  )
}

interface MemberListProps {
  projectId: string
  initial: ProjectMemberPage
  isOwner: boolean
  /** The account id of the reader. */
  me: string
}
/** The members. Owners change roles and remove members; everybody may leave, except the last owner. */
export function ProjectMemberList({ projectId, initial, isOwner, me }: MemberListProps) {
  const t = useTranslations('projects.members')
  const router = useRouter()
  const list = useApiInfiniteQuery(
    projectMembersAt,
    { params: { projectId }, query: { limit: projectRowsPerPage } },
    { initial },
  )
  const removal = useApiMutation(removeMemberAt, { touches: projectPaths })
  const promotion = useApiMutation(addMemberAt, { touches: projectPaths })
  const [removing, setRemoving] = useState<Member>()
  const { cursor } = useRowKeys({ count: list.rows.length, onOpen: null })
  const isLastOwner = (problem: { code: string } | undefined) => problem?.code === 'conflict'

  const columns = useMemberColumns(me, (member) => (
    <MemberActions
      member={member}
      isOwner={isOwner}
      isMe={isReader(member, me)}
      isBusy={promotion.isPending}
      onRole={(role) =>
        promotion.begin({ params: { projectId }, body: { kind: member.kind, member_id: member.member_id, role } })
      }
      onRemove={() => setRemoving(member)}
    />
  ))
  const leaves = removing !== undefined && isReader(removing, me)
  return (
    <div className="grid gap-3">
      {promotion.problem &&
        (isLastOwner(promotion.problem) ? (
          <Alert tone="danger" title={t('lastOwner')} isLive />
        ) : (
          <ProblemAlert problem={promotion.problem} />
        ))}
      <DataTable
        name="project-members"
        label={t('list')}
        rows={list.rows}
        pages={list}
        rowKey={({ kind, member_id }) => `${kind}/${member_id}`}
        cursor={cursor}
        columns={columns}
      />
      {!isOwner && <p className="text-sm text-quiet">{t('onlyOwners')}</p>}
      <Confirm
        open={removing !== undefined}
        onOpenChange={(open) => !open && setRemoving(undefined)}
        title={leaves ? t('leaveAsk') : t('removeAsk', { name: removing ? isolated(nameOf(removing)) : '' })}
        consequences={<p>{t(leaves ? 'leaveText' : 'removeText')}</p>}
        action={t(leaves ? 'leaveDo' : 'removeDo')}
        change={isLastOwner(removal.problem) ? { ...removal, problem: undefined } : removal}
        onConfirm={() => {
          if (!removing) return
          const { kind, member_id: memberId } = removing
          removal.begin({ params: { projectId, kind, memberId } }, () => {
            setRemoving(undefined)
            if (leaves) router.replace('/projects')
          })
        }}
      >
        {isLastOwner(removal.problem) && <Alert tone="danger" title={t('lastOwner')} isLive />}
      </Confirm>
    </div>
  )
}
