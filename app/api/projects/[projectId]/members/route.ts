import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.projects.members)
export const POST = route(app.projects.addMember)
