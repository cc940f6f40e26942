import { app, route } from '#lib/app.ts'

export const GET = route(app.projects.list)
export const POST = route(app.projects.create)
