import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.projects.read)
export const PATCH = route(app.projects.edit)
export const DELETE = route(app.projects.delete)
