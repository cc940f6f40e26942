import { z } from 'zod'
import { DataRegion } from '#lib/kernel/data-regions.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import {
  memberKinds,
  most,
  projectIdForm,
  projectMemberRoles,
  projectStatuses,
  SingleLine,
  seenRoles,
  writerKinds,
} from './rules.ts'

export const when = z.iso.datetime()
const whenever = when.nullable()
export const countField = z.number().int()
/** An id in a request. An id of an impossible form gets the same 404 as an unknown one. */
export const Id = z
  .string()
  .min(1)
  .max(200)
  .refine((id) => !id.includes('\0') && id.isWellFormed(), 'is not an id')
/** The agent that wrote on behalf of a participant. */
export const WrittenBy = z
  .string()
  .nullable()
  .meta({ description: 'The agent that wrote on behalf of the author; null where the author wrote' })
/** An id that the client chooses for a new record. */
export const OwnId = z.string().regex(projectIdForm, 'must have at most 200 letters, digits, _ . : and -')

/** The author or actor of a record, with the current name; null if the name no longer exists. */
export const Writer = z.strictObject({ kind: z.enum(writerKinds), id: z.string(), name: z.string().nullable() })
export type Writer = z.output<typeof Writer>

const EntityKinds = z
  .record(z.string().min(1).max(100), z.enum(['person', 'business']))
  .refine((kinds) => Object.keys(kinds).length <= most.entityKinds, `must have at most ${most.entityKinds} labels`)

export const ProjectView = z
  .strictObject({
    id: z.string(),
    name: z.string().meta({ description: 'Empty once the project is closed' }),
    status: z.enum(projectStatuses),
    role: z.enum(seenRoles).meta({
      description:
        'As what you see it. owner, member: of the project, yourself or by an agent of yours. manager, admin: by your office, which closes and reopens projects and sees none of their content',
    }),
    group_id: z.string().meta({ description: 'Under which a connected graph keeps what came from it' }),
    region: z.string().nullable(),
    entity_kinds: EntityKinds,
    members: countField,
    conversations: countField,
    documents: countField,
    participants: countField,
    created_at: when,
    updated_at: when,
    closing_at: whenever,
    closes_at: whenever.meta({ description: 'When its data goes' }),
    is_held: z.boolean().meta({ description: 'A legal hold covers it: nothing of it is erased until the hold ends' }),
    is_erasing: z.boolean().meta({ description: 'Its data is being erased: none of it is read any more' }),
    closed_at: whenever,
    receipt_id: z.string().nullable().meta({ description: 'Of a closed one: its certificate' }),
  })
  .meta({ id: 'Project' })
export type ProjectView = z.output<typeof ProjectView>

export const ProjectMember = z
  .strictObject({
    kind: z.enum(memberKinds),
    member_id: z.string(),
    name: z.string().nullable(),
    role: z.enum(projectMemberRoles),
    added_at: when,
  })
  .meta({ id: 'ProjectMember' })
export type ProjectMember = z.output<typeof ProjectMember>

export const project = { resourceType: 'project' } as const
const params = z.strictObject({ projectId: Id })
const reading = {
  method: 'get',
  permission: 'projects:read',
  audit: { action: 'read', ...project },
  limit: 'read',
  status: 200,
} as const
const writing = { permission: 'projects:write', limit: 'write' } as const

export const listProjects = operation({
  ...reading,
  id: 'listProjects',
  path: '/api/projects',
  summary: 'Projects, newest first',
  description:
    'Those you are a member of, yourself or by an agent of yours. Managers ask for all of their organisation, admins for all there are, with `all=true`: what there is of them, and none of their content.',
  query: z.strictObject({
    status: z.enum(projectStatuses).optional(),
    all: z
      .enum(['true', 'false'])
      .default('false')
      .transform((text) => text === 'true'),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(ProjectView),
})

export const createProject = operation({
  ...writing,
  id: 'createProject',
  method: 'post',
  path: '/api/projects',
  summary: 'Begin a project',
  description:
    'You become its owner. `group_id`: under which a connected graph keeps what comes from it; the project’s id unless told, and no two projects share one. Another one begins with your organisation’s prefix (GET /api/stores/namespace).',
  audit: { action: 'create', ...project },
  status: 201,
  body: z.strictObject({
    name: SingleLine,
    region: DataRegion.nullable().optional().meta({
      description:
        'Its data may lie there alone, and is refused where a store lies elsewhere. Wherever the installation keeps it, unless told',
    }),
    group_id: OwnId.optional(),
    entity_kinds: EntityKinds.optional().meta({
      description: 'Labels of its graph, each person or business; a label that nobody knows counts as a person',
    }),
  }),
  output: z.strictObject({ data: ProjectView }),
  secrets: ['name'],
  refusals: ['conflict', 'outside_region'],
})

export const readProject = operation({
  ...reading,
  id: 'readProject',
  path: '/api/projects/{projectId}',
  summary: 'A project',
  params,
  output: z.strictObject({ data: ProjectView }),
  refusals: ['not_found'],
})

export const editProject = operation({
  ...writing,
  id: 'editProject',
  method: 'patch',
  path: '/api/projects/{projectId}',
  summary: 'Change a project’s name, region, or which labels of its graph are people',
  description: 'For its owners.',
  audit: { action: 'update', ...project },
  status: 200,
  params,
  body: z
    .strictObject({
      name: SingleLine.optional(),
      region: createProject.body.shape.region,
      entity_kinds: EntityKinds.optional(),
    })
    .refine((body) => Object.values(body).some((value) => value !== undefined), 'must contain at least one change'),
  output: z.strictObject({ data: ProjectView }),
  refusals: ['not_found', 'forbidden', 'fenced', 'conflict'],
})

const member = { resourceType: 'project_member' } as const

export const listProjectMembers = operation({
  ...reading,
  id: 'listProjectMembers',
  path: '/api/projects/{projectId}/members',
  summary: 'Who takes part in a project, newest first',
  audit: { action: 'read', ...member },
  params,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(ProjectMember),
  refusals: ['not_found'],
})

export const addProjectMember = operation({
  ...writing,
  id: 'addProjectMember',
  method: 'post',
  path: '/api/projects/{projectId}/members',
  summary: 'Let somebody take part, or change their role',
  description:
    'For owners. People and agents of the project’s organisation; a person also by their e-mail address. Whoever takes part already has the role that is named from then on; the last owner stays one.',
  audit: { action: 'create', ...member },
  status: 201,
  params,
  body: z
    .strictObject({
      kind: z.enum(memberKinds),
      member_id: Id.optional(),
      email: z.email('must be an email address').max(320).optional(),
      role: z.enum(projectMemberRoles).default('member'),
    })
    .refine(
      ({ member_id, email }) => (member_id === undefined) !== (email === undefined),
      'must contain either member_id or email',
    )
    .refine(
      ({ kind, email }) => kind === 'account' || email === undefined,
      'can contain email only for the kind account',
    ),
  output: z.strictObject({ data: ProjectMember }),
  secrets: ['name'],
  refusals: ['not_found', 'forbidden', 'fenced', 'wrong_state', 'conflict'],
})

export const removeProjectMember = operation({
  ...writing,
  id: 'removeProjectMember',
  method: 'delete',
  path: '/api/projects/{projectId}/members/{kind}/{memberId}',
  summary: 'Let somebody take part no more',
  description:
    'For owners, and for oneself. What they wrote stays, and stays theirs to erase; the last owner stays, too.',
  audit: { action: 'delete', ...member },
  deletes: { none: 'a membership holds no content' },
  status: 204,
  params: z.strictObject({ projectId: Id, kind: z.enum(memberKinds), memberId: Id }),
  output: z.undefined(),
  refusals: ['not_found', 'forbidden', 'conflict'],
})
