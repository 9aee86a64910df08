"""A project of django-mongodb-backend from nothing: its migrations are made and applied, more are
applied to documents that are there, and all are taken back."""

import os
import sys
import tempfile
import traceback

import django_project
from django.core.management import call_command

MODELS = '''
from django.db import models
class Book(models.Model):
    title = models.CharField(max_length=50, unique=True)
    pages = models.IntegerField(db_index=True)
    class Meta:
        app_label = 'shelf'
        indexes = [models.Index(fields=['title', '-pages'], name='by_both'),
                   models.Index(fields=['pages'], name='thick',
                                condition=models.Q(pages__gt=500))]
'''


class Project:
    def __init__(self, folder):
        self.folder = folder
        sys.path.insert(0, folder)
        self.write('shelf/__init__.py', '')
        self.write('shelf/models.py', MODELS)
        modules = {}
        for app in ('admin', 'auth', 'contenttypes'):
            self.write('migrations/%s/__init__.py' % app, '')
            modules[app] = 'migrations.' + app
        self.write('migrations/__init__.py', '')
        self.write('shelf/migrations/__init__.py', '')
        django_project.begin(['django_project.MongoAdminConfig', 'django.contrib.messages',
                              'django.contrib.sessions', 'shelf'], MIGRATION_MODULES=modules,
                             SESSION_ENGINE='django.contrib.sessions.backends.db')

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)

    def indexes(self):
        from django.db import connection
        return sorted(connection.database['shelf_book'].index_information())


def same(got, want):
    if got != want:
        raise AssertionError('%r, not %r' % (got, want))


def makes_migrations(_project):
    call_command('makemigrations', 'admin', 'auth', 'contenttypes', 'shelf', verbosity=0)
    call_command('makemigrations', check=True, dry_run=True, verbosity=0)


def migrates(project):
    from django.contrib.auth.models import User
    call_command('migrate', verbosity=0)
    same(len(project.indexes()), 5)
    User.objects.create_superuser('ada', 'ada@example.com', 'secret')
    same(User.objects.get(username='ada').check_password('secret'), True)


def has_permissions(_project):
    from django.contrib.auth.models import Group, Permission, User
    group = Group.objects.create(name='readers')
    group.permissions.add(Permission.objects.get(codename='view_book'))
    User.objects.create_user('ben', password='secret').groups.add(group)
    same(User.objects.get(username='ben').has_perm('shelf.view_book'), True)
    same(User.objects.get(username='ben').has_perm('shelf.add_book'), False)


def uses_models(_project):
    from django.db import IntegrityError
    from django.db.models import Avg, Count, F, Q
    from shelf.models import Book
    Book.objects.bulk_create(Book(title='book %d' % n, pages=100 * n) for n in range(1, 11))
    same(Book.objects.filter(Q(pages__gt=500) | Q(title='book 1')).count(), 6)
    same(Book.objects.aggregate(mean=Avg('pages'), n=Count('pk')), {'mean': 550, 'n': 10})
    same(Book.objects.filter(pages__gt=900).update(pages=F('pages') + 1), 1)
    same(list(Book.objects.order_by('-pages').values_list('pages', flat=True)[:2]), [1001, 900])
    same(Book.objects.filter(title__icontains='OOK 1').count(), 2)
    try:
        Book.objects.create(title='book 1', pages=1)
    except IntegrityError:
        return
    raise AssertionError('a title twice')


def has_sessions(_project):
    from django.contrib.sessions.backends.db import SessionStore
    session = SessionStore()
    session['n'] = 1
    session.save()
    same(SessionStore(session.session_key)['n'], 1)


def migrates_again(project):
    project.write('shelf/migrations/0002_change.py', '''
from django.db import migrations, models
class Migration(migrations.Migration):
    dependencies = [('shelf', '0001_initial')]
    operations = [
        migrations.AddField('book', 'lent', models.BooleanField(default=False)),
        migrations.RemoveIndex('book', 'thick'),
        migrations.RenameField('book', 'pages', 'sheets'),
        migrations.AddConstraint('book', models.UniqueConstraint(
            fields=['sheets'], condition=models.Q(lent=True), name='lent_once')),
    ]
''')
    call_command('migrate', 'shelf', verbosity=0)
    from django.db import connection
    books = connection.database['shelf_book']
    same(books.count_documents({'lent': False, 'sheets': {'$exists': True}}), 10)
    same('lent_once' in project.indexes(), True)


def takes_back(project):
    from django.db import connection
    call_command('migrate', 'shelf', '0001', verbosity=0)
    same('thick' in project.indexes(), True)
    same(connection.database['shelf_book'].count_documents({'pages': {'$exists': True}}), 10)
    call_command('migrate', 'shelf', 'zero', verbosity=0)
    same('shelf_book' in connection.database.list_collection_names(), False)


CHECKS = [makes_migrations, migrates, has_permissions, uses_models, has_sessions, migrates_again,
          takes_back]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        project = Project(folder)
        for check in CHECKS:
            name = check.__name__.replace('_', ' ')
            try:
                check(project)
                print('ok: ' + name)
            except Exception:  # pylint: disable=broad-exception-caught
                failed += 1
                print('FAIL: %s\n%s' % (name, traceback.format_exc()))
    print('%d passed, %d failed' % (len(CHECKS) - failed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
