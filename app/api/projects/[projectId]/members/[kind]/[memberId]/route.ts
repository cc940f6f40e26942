import { app, route } from '#lib/app.ts'

export const DELETE = route(app.projects.removeMember)
