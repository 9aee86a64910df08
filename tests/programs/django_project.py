"""A Django project in the database of MONGOD_URI, as the guide of django-mongodb-backend has it."""

import os

import django
from django.conf import settings
from django.contrib.admin.apps import AdminConfig
from django.contrib.auth.apps import AuthConfig
from django.contrib.contenttypes.apps import ContentTypesConfig

KEYS = 'django_mongodb_backend.fields.ObjectIdAutoField'


class MongoAdminConfig(AdminConfig):
    default_auto_field = KEYS


class MongoAuthConfig(AuthConfig):
    default_auto_field = KEYS


class MongoContentTypesConfig(ContentTypesConfig):
    default_auto_field = KEYS


def begin(apps, **more):
    """Sets Django up with these apps beside those of its own that ask for keys."""
    settings.configure(DATABASES={name: {'ENGINE': 'django_mongodb_backend',
                                         'HOST': os.environ['MONGOD_URI'], 'NAME': 'django_' + name}
                                  for name in ('default', 'other')},
                       DATABASE_ROUTERS=['django_mongodb_backend.routers.MongoRouter'],
                       DEFAULT_AUTO_FIELD=KEYS, SECRET_KEY='secret', USE_TZ=False,
                       PASSWORD_HASHERS=['django.contrib.auth.hashers.MD5PasswordHasher'],
                       INSTALLED_APPS=['django_project.MongoContentTypesConfig',
                                       'django_project.MongoAuthConfig', *apps], **more)
    django.setup()
